"""``mdreel cluster``: what the scripts say, and what is refused before there is one."""

import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

JOB = ["--nodes", "2", "--ntasks-per-node", "4"]
RMSD = ["mdreel", "rmsd", "-s", "adk.psf", "-f", "adk.xtc"]
SCHEDULERS = ("slurm", "pbs")


def last_command(script: str) -> list[str]:
    """The words of the analysis, as bash has them."""
    (line,) = [line for line in script.splitlines() if line.startswith('"${launch[@]}" "$mdreel"')]
    words = shlex.split(line.removesuffix("&").strip().removesuffix("< /dev/null"))
    return words[2:]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_script_goes_to_standard_output_and_bash_understands_it(run, scheduler):
    done = run("cluster", scheduler, *JOB, "--time", "1-02:03:04", "--", *RMSD)
    assert (done.returncode, done.stderr) == (0, "")
    checked = subprocess.run(["bash", "-n"], input=done.stdout, text=True, capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert "26:03:04" in done.stdout


def test_command_without_mdreel_is_refused_with_the_remedy(run):
    done = run("cluster", "slurm", *JOB, "--", *RMSD[1:])
    assert done.returncode == 2
    assert done.stderr.startswith("mdreel: error: the command must begin with mdreel: mdreel rmsd ")


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--time", "01:00:00", "--output-script", "job.sh", "--module", "mpi"],
        ["--stage-in", "${TMPDIR}/a b", "--time", "01:00:00"],
    ],
)
def test_shellcheck_finds_nothing(run, tmp_path, scheduler, options):
    done = run("cluster", scheduler, *JOB, *options, "--", *RMSD, "--select", "name 'CA' and not name $x")
    (tmp_path / "job.sh").touch()
    script = done.stdout or (tmp_path / "job.sh").read_text()
    # Not the environment's own script, and quotes that keep a dollar sign as it is.
    words = ["shellcheck", "--exclude=SC1090,SC1091,SC2016", "-"]
    checked = subprocess.run(words, input=script, text=True, capture_output=True)
    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(
    "selection", ["name CA", "resname 'A' \"B\"", "$HOME `id` $(id)", "a\\b !x ; & | > <", "prop z > 5 \t* ~ é"]
)
def test_command_comes_through_bash_word_for_word(run, scheduler, selection):
    words = [*RMSD[1:], "--select", selection, "-o", "a b.csv"]
    script = run("cluster", scheduler, *JOB, "--", "mdreel", *words).stdout
    (line,) = [line for line in script.splitlines() if '"$mdreel" rmsd' in line]
    program = 'launch=(printf "%s\\0"); mdreel=mdreel; ' + line.rstrip("& ")
    found = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout.split("\0")
    assert found == ["mdreel", *words, "--checkpoint", "a b.csv.checkpoint", ""]


@pytest.mark.parametrize(
    ("files", "nodes", "wanted", "is_static"),
    [
        (["-f", "a/md.xtc"], 2, ["1/md.xtc"], False),
        (["-f", "a/md.xtc", "b/md.xtc"], 2, ["1/md.xtc", "2/md.xtc"], True),
        (["-f", "a b.xtc", "--trajectory", "$c.xtc"], 2, ["1/a b.xtc", "2/$c.xtc"], True),
        (["-f", "a.xtc", "b.xtc"], 1, ["1/a.xtc", "2/b.xtc"], False),
    ],
)
def test_copies_take_the_place_of_the_files(run, files, nodes, wanted, is_static):
    job = ["--nodes", str(nodes), "--ntasks-per-node", "4", "--stage-in", "$TMPDIR"]
    script = run("cluster", "slurm", *job, "--", "mdreel", "rmsd", *files, "-s", "adk.psf", "-o", "a.csv").stdout
    (line,) = [line for line in script.splitlines() if '"$mdreel" rmsd' in line]
    program = 'launch=(printf "%s\\0"); mdreel=mdreel; staged=/s; ' + line.rstrip("& ")
    found = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout.split("\0")
    assert [word.removeprefix("/s/") for word in found if word.startswith("/s/")] == wanted
    assert ("static" in found) == is_static
    originals = shlex.split(next(line for line in script.splitlines() if "files=(" in line).partition("files=(")[2])
    assert [word.rstrip(")") for word in originals[: len(wanted)]] == [word for word in files if word[0] != "-"]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(
    ("folder", "words", "message"),
    [
        ("scratch", RMSD, "absolute path, or a variable of the job such as $TMPDIR, not 'scratch'"),
        ("/scratch", [*RMSD, "-f", "b.xtc", "--schedule", "demand"], "needs --schedule static"),
        ("/scratch", [*RMSD[:4], "-fadk.xtc"], "write the trajectory as -f FILE"),
        ("/scratch", ["mdreel", "run", "recipe.toml"], "a recipe names the trajectory itself"),
    ],
)
def test_copies_that_cannot_be_made_are_refused(run, tmp_path, scheduler, folder, words, message):
    (tmp_path / "recipe.toml").write_text('topology = "a.psf"\ntrajectory = "a.xtc"\n[[analysis]]\ntype = "rg"\n')
    done = run("cluster", scheduler, *JOB, "--stage-in", folder, "--", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_checkpoint_of_the_user_stays(run):
    script = run("cluster", "slurm", *JOB, "--", *RMSD, "--checkpoint", "mine").stdout
    assert last_command(script) == [*RMSD[1:], "--checkpoint", "mine"]
    assert "checkpoint='mine'" in script


def test_files_and_folders_of_the_command_are_looked_at(run, tmp_path):
    for name in ("out", "plots"):
        (tmp_path / name).mkdir()
    words = [*RMSD, "-f", "part 2.xtc", "--reference", "ref.pdb", "-o", "out/a.csv", "--plot", "plots/a.png"]
    script = run("cluster", "slurm", *JOB, "--", *words).stdout
    assert "for path in \"$1\" adk.psf adk.xtc 'part 2.xtc' ref.pdb; do" in script
    assert 'for path in out plots "${TMPDIR:-/tmp}"; do' in script


RECIPE = """
topology = "adk.psf"
trajectory = ["part 1.xtc", "part 2.xtc"]
[[analysis]]
type = "rmsd"
reference = "ref.pdb"
[[analysis]]
type = "density"
output = "out/density.csv"
grid = "grids/density.dx"
"""


def test_recipe_goes_on_where_it_was_and_its_files_are_looked_at(run, tmp_path):
    for name in ("job", "job/out", "job/grids"):
        (tmp_path / name).mkdir()
    (tmp_path / "job" / "recipe.toml").write_text(RECIPE)
    script = run("cluster", "slurm", *JOB, "--", "mdreel", "run", "job/recipe.toml").stdout
    assert last_command(script) == ["run", "job/recipe.toml", "--checkpoint", "job/out/density.csv.checkpoint"]
    read = "job/recipe.toml job/adk.psf 'job/part 1.xtc' 'job/part 2.xtc' job/ref.pdb"
    assert f'for path in "$1" {read}; do' in script
    assert 'for path in job/out job/grids "${TMPDIR:-/tmp}"; do' in script
    assert "#SBATCH --job-name=mdreel-run" in script


def test_checkpoint_of_a_recipe_stays(run, tmp_path):
    (tmp_path / "recipe.toml").write_text(RECIPE.replace("[[analysis]]", '[run]\ncheckpoint = "mine"\n[[analysis]]', 1))
    (tmp_path / "out").mkdir()
    (tmp_path / "grids").mkdir()
    script = run("cluster", "slurm", *JOB, "--", "mdreel", "run", "recipe.toml").stdout
    assert last_command(script) == ["run", "recipe.toml"]
    assert "checkpoint='mine'" in script


@pytest.mark.parametrize(
    ("run_table", "message"),
    [
        ('backend = "threads"', "--backend"),
        ("n-workers = 3", "8 ranks"),
        ("follow = true\nend-idle = 5.0", "--follow"),
        ("begin = 1.0\nstart = 2", "by time"),
    ],
)
def test_recipe_that_ranks_cannot_run_is_refused(run, tmp_path, run_table, message):
    text = 'topology = "a.psf"\ntrajectory = "a.xtc"\n[run]\n' + run_table + '\n[[analysis]]\ntype = "rg"\n'
    (tmp_path / "recipe.toml").write_text(text)
    done = run("cluster", "slurm", *JOB, "--", "mdreel", "run", "recipe.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_slurm_is_asked_for_what_was_asked_for(run):
    options = ["--time", "04:00:00", "--mem", "16G", "--account", "chem", "--partition", "long", "--job-name", "adk"]
    lines = run("cluster", "slurm", *JOB, *options, "--launcher", "pmi2", "--", *RMSD).stdout.splitlines()
    wanted = ["job-name=adk", "nodes=2", "ntasks-per-node=4", "cpus-per-task=1", "mem=16G", "time=04:00:00"]
    wanted += ["account=chem", "partition=long", "requeue", "open-mode=append", "signal=B:USR1@120"]
    assert {f"#SBATCH --{one}" for one in wanted} <= set(lines)
    assert any(line.startswith("launch=(srun --mpi=pmi2 --ntasks=8 ") for line in lines)


def test_pbs_is_asked_for_what_was_asked_for(run):
    options = ["--time", "04:00:00", "--mem", "16G", "--account", "chem", "--queue", "long", "--job-name", "adk"]
    lines = run("cluster", "pbs", *JOB, *options, "--", *RMSD).stdout.splitlines()
    wanted = ["-N adk", "-l select=2:ncpus=4:mpiprocs=4:ompthreads=1:mem=16gb", "-l place=scatter"]
    wanted += ["-l walltime=04:00:00", "-A chem", "-q long", "-r y"]
    assert {f"#PBS {one}" for one in wanted} <= set(lines)
    assert 'launch=(mpirun -n 8 env "${settings[@]}")' in lines


def test_pbs_submits_itself_again_when_it_knows_its_time_and_place(run, tmp_path):
    assert run("cluster", "pbs", *JOB, "--time", "01:00:00", "-o", "job.sh", "--", *RMSD).returncode == 0
    assert f"qsub {tmp_path / 'job.sh'}\n" in (tmp_path / "job.sh").read_text()
    for options in ([], ["--time", "01:00:00"]):
        assert "qsub /" not in run("cluster", "pbs", *JOB, *options, "--", *RMSD).stdout


@pytest.mark.parametrize("name", ["bin/activate", "conda-meta/history"])
def test_environment_is_activated(run, tmp_path, name):
    (tmp_path / "my env" / name).parent.mkdir(parents=True)
    (tmp_path / "my env" / name).touch()
    script = run("cluster", "slurm", *JOB, "--environment", "my env", "--module", "gcc", "--module", "mpi", "--", *RMSD)
    place = shlex.quote(str(tmp_path / "my env"))
    wanted = (
        f"conda activate {place}" if "conda" in name else f"source {shlex.quote(f'{tmp_path}/my env/bin/activate')}"
    )
    assert {wanted, "module load gcc mpi"} <= set(script.stdout.splitlines())


def test_environment_of_conda_is_known_by_name(run):
    script = run("cluster", "slurm", *JOB, "--environment", "analysis", "--", *RMSD).stdout
    assert "conda activate analysis" in script.splitlines()


def test_script_in_a_file_is_executable_and_is_replaced_with_force_only(run, tmp_path):
    words = ["cluster", "slurm", *JOB, "-o", "job.sh"]
    done = run(*words, "--", *RMSD)
    assert (done.returncode, done.stdout) == (0, "")
    missing, hint = done.stderr.splitlines()
    assert missing == "warning: not found here, but needed by the job: adk.psf, adk.xtc"
    assert "sbatch job.sh" in hint
    script = tmp_path / "job.sh"
    assert script.stat().st_mode & stat.S_IXUSR
    before = script.read_text()
    refused = run(*words, "--", *RMSD, "-o", "b.csv")
    assert refused.returncode == 2
    assert "job.sh: the output exists already (--force replaces it)" in refused.stderr
    assert script.read_text() == before
    assert run(*words, "--force", "--", *RMSD, "-o", "b.csv").returncode == 0
    assert "b.csv" in script.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["job.sh"]


def test_script_in_a_folder_that_is_not_there_is_an_error_of_the_output(run):
    done = run("cluster", "slurm", *JOB, "-o", "none/job.sh", "--", *RMSD)
    assert done.returncode == 4
    assert "none" in done.stderr


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(
    ("options", "words", "message"),
    [
        (["--nodes", "0"], RMSD, "nodes"),
        (["--ntasks-per-node", "0"], RMSD, "ntasks-per-node"),
        (["--time", "4h"], RMSD, "HH:MM:SS"),
        (["--time", "00:00:30"], RMSD, "one minute"),
        (["--mem", "lots"], RMSD, "16G"),
        (["--account", "a b"], RMSD, "'a b'"),
        (["--job-name", "two words"], RMSD, "'two words'"),
        (["--environment", "./nowhere"], RMSD, "./nowhere"),
        ([], [], "missing"),
        ([], ["gmx", "rms"], "mdreel rmsd"),
        ([], ["mdreel"], "mdreel rmsd"),
        ([], ["mdreel", "convert", "-f", "a.xtc", "-o", "b.xtc"], "mdreel rmsd"),
        ([], ["mdreel", "rmsd", "-s", "adk.psf"], "--trajectory"),
        ([], ["mdreel", "rmsd", "-f", "adk.xtc"], "mdreel rmsd --help"),
        ([], [*RMSD, "--selct", "name CA"], "--selct"),
        ([], [*RMSD, "--step", "0"], "--step"),
        ([], [*RMSD, "-b", "1", "--start", "2"], "by time"),
        ([], [*RMSD, "-o", "rmsd.docx"], ".csv"),
        ([], [*RMSD, "--backend", "threads"], "--backend"),
        ([], [*RMSD, "--backend", "dask", "--scheduler", "tcp://a:1"], "--scheduler"),
        ([], [*RMSD, "-nt", "3"], "8 ranks"),
        ([], [*RMSD, "--follow", "--end-idle", "5"], "--follow"),
    ],
)
def test_what_cannot_be_meant_is_refused(run, tmp_path: Path, scheduler, options, words, message):
    done = run("cluster", scheduler, *JOB, *options, "-o", "job.sh", "--", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message.lower() in done.stderr.lower()
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_help_says_where_the_command_goes_and_shows_an_example(run, scheduler):
    shown = run("cluster", scheduler, "--help").stdout
    assert "[OPTIONS] -- mdreel ANALYSIS [OPTIONS]" in shown
    assert f"mdreel cluster {scheduler} --nodes 2" in shown.split("Examples:")[1]
