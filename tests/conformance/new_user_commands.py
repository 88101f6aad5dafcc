"""Commands of a new user: mistakes with the exit code and the remedy of each."""

from pathlib import Path

from MDAnalysisTests.datafiles import DCD, GRO, PSF, TPR, XTC, PDB_small

USAGE, INPUT = 2, 3
ADK = "-s adk.psf -f adk.dcd"
WATER = "-s water.gro -f water.xtc"


def files_of() -> dict[str, Path]:
    """The files that commands name."""
    names = {
        "adk.psf": PSF,
        "adk.dcd": DCD,
        "water.gro": GRO,
        "water.xtc": XTC,
        "crystal.pdb": PDB_small,
        **dict.fromkeys(("system.tpr", "run.tpr", "melt.tpr", "membrane.tpr"), TPR),
        **dict.fromkeys(("run.xtc", "melt.xtc", "membrane.xtc"), XTC),
    }
    return {name: Path(path) for name, path in names.items()}


COMMANDS: dict[str, tuple[int, str]] = {
    "rmds": (USAGE, "did you mean 'rmsd'"),
    "RMSD": (USAGE, "did you mean 'rmsd'"),
    "hbond": (USAGE, "did you mean 'hbonds'"),
    "xyzzy": (USAGE, "see mdreel --help"),
    "cluster slurn": (USAGE, "(?i)did you mean .*slurm|see mdreel cluster --help"),
    f"rmsd {ADK} --selct 'name CA'": (USAGE, "(?i)did you mean .*--select"),
    f"rmsd {ADK} -select 'name CA'": (USAGE, "No such option '-select'. Did you mean '--select'"),
    f"rmsd {ADK} -b 20 -e 10": (INPUT, "the end, 10 ps, is earlier than the begin, 20 ps"),
    f"rmsd {ADK} -superposition": (USAGE, "Did you mean '--superposition'"),
    f"rmsd {ADK} --n_workers 2": (USAGE, "(?i)did you mean .*--n-workers"),
    f"rmsf {ADK} --align": (USAGE, "(?i)did you mean .--superposition"),
    "rmsd -s adk.psf": (USAGE, "Missing option '-f'"),
    f"rmsd {ADK} --weights masses": (USAGE, "is not one of 'none', 'mass'"),
    f"rmsd {ADK} -o rmsd.doc": (USAGE, "known endings of tables: .csv"),
    f"rmsd {ADK} -o there.csv": (USAGE, "--force replaces it"),
    f"rmsd {ADK} -o gone/rmsd.csv": (4, "directory of the output does not exist"),
    "rmsd adk.psf adk.dcd --select protein and name CA": (
        USAGE,
        "quotation marks: mdreel rmsd -s adk.psf -f adk.dcd --select 'protein and name CA' ",
    ),
    f"rmsd {ADK} --select protein and name CA -o a.csv": (
        USAGE,
        f"--select: .* quotation marks: mdreel rmsd {ADK} --select 'protein and name CA' -o a.csv ",
    ),
    f"rmsf --select=name CA {ADK}": (USAGE, f"quotation marks: mdreel rmsf --select 'name CA' {ADK} "),
    f"rdf {ADK} --select name O --other name H or name N": (USAGE, "--select 'name O' --other 'name H or name N' "),
    "convert adk.dcd -s adk.psf --select name CA -o ca.dcd": (
        USAGE,
        "mdreel convert adk.dcd -s adk.psf --select 'name CA' -o ca.dcd ",
    ),
    f"rmsd {ADK} --reference 20": (
        INPUT,
        "20: No such file or directory; for a frame of the trajectory, give --ref-frame 20",
    ),
    "rmsd -s '' -f adk.dcd": (USAGE, "'-s' / '--topology': the name of the file is empty"),
    f"rmsd {ADK} --select ''": (INPUT, "the selection is empty: give one such as 'protein and name CA', or 'all'"),
    f"rmsd {ADK} --select 'name ca'": (INPUT, "did you mean 'CA'"),
    f"rmsd {ADK} --select 'nme CA'": (INPUT, "did you mean 'name'"),
    f"rmsd {ADK} --select 'name CA and ('": (INPUT, "ends too early, see https://"),
    f"rmsd {ADK} --select 'name CA and (resid 1:29'": (INPUT, "a closing '\\)' is missing"),
    f"rmsd {ADK} --group 'name XX'": (INPUT, "--group: .*only C, CA, CB"),
    f"rmsd {ADK} --group 'LID=name XX'": (INPUT, "--group: .*only C, CA, CB"),
    f"rmsd {ADK} --memory 2gigs": (INPUT, "--memory must be .* such as 2G"),
    f"rmsd {ADK} --start 500": (INPUT, "no frame is left of --start 500: the trajectory has 98 frames"),
    f"rmsd {ADK} -b 5000": (INPUT, "it has frames from 1 to 98 ps"),
    f"rmsd {ADK} --ref-frame 500": (INPUT, "the trajectory has 98 frames, 0 to 97"),
    f"rmsd {ADK} --access hdf5-independent": (INPUT, "--access hdf5-independent is for the backend mpi"),
    f"rmsd {ADK} --access mpiio": (INPUT, "--access mpiio is for the backend mpi"),
    f"rmsd {ADK} --reference gone.pdb": (INPUT, "gone.pdb: No such file"),
    f"rmsd {ADK} --select all --reference water.gro": (INPUT, "select the same atoms"),
    "rmsd -s adk.psf -f water.xtc": (INPUT, "use the topology of the same system"),
    "rmsd -s adk.dcd -f adk.psf": (INPUT, "expected a trajectory .*found a PSF topology"),
    "rmsd -s adk.psf -f gone.xtc": (INPUT, "gone.xtc: No such file"),
    f"rmsf {ADK} --select 'resname XYZ'": (INPUT, "no atom has the resname 'XYZ'"),
    f"rmsd2d {ADK} --select 'name XX'": (INPUT, "only C, CA, CB"),
    f"pca {ADK} --stop 1": (INPUT, "analyse more frames"),
    f"pca {WATER} --select all": (INPUT, "select fewer atoms"),
    f"projection {ADK} --stop 1": (INPUT, "analyse more frames"),
    f"dihedrals {WATER} --select 'resname SOL'": (INPUT, "select residues of a protein"),
    f"ramachandran {WATER} --select 'resname SOL'": (INPUT, "is not protein: select other residues$"),
    f"janin {ADK} --select 'resname GLY'": (INPUT, "with longer side chains"),
    f"helices {ADK}": (USAGE, "as in --segment 13:24"),
    f"dssp {ADK} --select 'resid 1:3'": (INPUT, "or use --method kabsch-sander"),
    f"rdf {ADK} --select 'name CA'": (INPUT, "no periodic cell.*give --norm none"),
    f"rdf {WATER} --select 'name CA' --from 5 --to 1.2": (INPUT, "an ascending range"),
    f"rdf {WATER} --select 'name CA' --bins 1000000000000": (INPUT, "give a smaller --bins"),
    f"site-rdf {ADK} --select 'index 1' --other 'index 2'": (INPUT, "give --norm none"),
    f"linear-density {ADK}": (INPUT, "set the cell with MDAnalysis"),
    f"msd {ADK} --unwrap-jumps lattice": (INPUT, "give --unwrap-jumps none"),
    f"contacts {ADK} --radius 0.45": (INPUT, "raise the radius"),
    f"density {ADK} --select 'name CA' --delta 0.000001": (INPUT, "give a larger delta"),
    f"hbonds {WATER}": (INPUT, "or give --hydrogens and --acceptors"),
    f"hbonds {ADK} --distance 0.3": (INPUT, "--distance must be .*0.3 nm are 3 Å"),
    f"sasa {ADK} --probe 0.14": (USAGE, "(?i)did you mean .*--probe-radius"),
    f"distances {WATER} --select all": (INPUT, "select fewer atoms"),
    f"distances {WATER} --select all --over-time": (INPUT, "such as --step 10"),
    f"select {ADK} --dynamic 'around 3'": (INPUT, "ends too early, see https://"),
    "convert water.xtc out.xtc": (USAGE, "Missing option '-o'"),
    "info gone.xtc": (INPUT, "gone.xtc: No such file"),
    "info adk.psf": (INPUT, "expected a trajectory"),
}
