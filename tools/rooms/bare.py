"""Mentions of renamed modules by their bare old name, in pages and docstrings: for a person to
read."""
import re,subprocess,sys
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
import moves
root=Path(sys.argv[1])
renamed={}
for a,b in moves.modules().items():
    o,n=a.rsplit('.',1)[1],b.rsplit('.',1)[1]
    if o!=n: renamed.setdefault(o,[]).append((a,b))
files=subprocess.check_output(['git','-C',str(root),'ls-files','*.md','decoder/*.py','pipeline/*.py','decoder/**/*.py','pipeline/**/*.py'],text=True).split()
n=0
for f in sorted(set(files)):
    if f=='CHANGELOG.md' or not (root/f).exists(): continue
    for i,l in enumerate((root/f).read_text().splitlines(),1):
        for m in re.finditer(r'`+([a-z_]+)`+(?!\()',l):
            if m[1] in renamed:
                # in code: only where a sibling room of the old package is meant
                homes=[b for a,b in renamed[m[1]] if f.endswith('.md') or a.split('.')[0]==f.split('/')[0]]
                if homes: n+=1; print(f"{f}:{i}: `{m[1]}` -> {' or '.join(homes)}")
print(n, file=sys.stderr)
