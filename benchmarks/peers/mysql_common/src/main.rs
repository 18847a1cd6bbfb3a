//! Decodes a binlog file with mysql_common, as often as asked: a line of counts and seconds per pass.

use mysql_common::binlog::{consts::BinlogVersion, events::EventData, row::BinlogRow, BinlogFile};
use std::{env, error::Error, fs, hint::black_box, io::Cursor, time::Instant};

#[derive(Default)]
struct Pass {
    events: usize,
    images: usize,
    cells: usize,
}

impl Pass {
    fn take(&mut self, image: Option<BinlogRow>) {
        if let Some(row) = image {
            self.images += 1;
            self.cells += row.len();
            black_box(&row);
        }
    }
}

fn decode(file: &[u8]) -> Result<Pass, Box<dyn Error>> {
    let mut pass = Pass::default();
    let mut binlog = BinlogFile::new(BinlogVersion::Version4, Cursor::new(file))?;
    while let Some(event) = binlog.next() {
        let event = event?;
        pass.events += 1;
        if let Some(EventData::RowsEvent(rows)) = event.read_data()? {
            let table = binlog
                .reader()
                .get_tme(rows.table_id())
                .ok_or("a rows event without its table map")?;
            for row in rows.rows(table) {
                let (before, after) = row?;
                pass.take(before);
                pass.take(after);
            }
        }
    }
    Ok(pass)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().collect();
    let file = fs::read(&arguments[1])?;
    for _ in 0..arguments[2].parse()? {
        let began = Instant::now();
        let Pass {
            events,
            images,
            cells,
        } = decode(&file)?;
        let seconds = began.elapsed().as_secs_f64();
        println!(
            r#"{{"events": {events}, "images": {images}, "cells": {cells}, "seconds": {seconds}}}"#
        );
    }
    Ok(())
}
