"""HTML and style of the page; `pipeline.run.page.document` fills them in."""
