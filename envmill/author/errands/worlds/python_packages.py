"""World `python_packages`: a small package with a version in two places, a function that is wrong, and no way to run it yet."""

from envmill.author.errands.base import Deed, Spot, World


def make(spot: Spot) -> World:
    dice, home = spot.dice, f"{spot.home}/tool"
    package, (minor, micro, factor) = f"{spot.folder}_tool", (dice.randint(1, 8), dice.randint(1, 8), dice.randint(3, 9))
    old, new = f"0.{minor}.{micro}", f"0.{minor + 1}.0"
    init, project = f"{home}/src/{package}/__init__.py", f"{home}/pyproject.toml"
    values = {
        "home": home, "package": package, "old": old, "new": new, "init": init, "project": project, "src": f"{home}/src", "factor": factor,
        "stats": f"{home}/src/{package}/stats.py", "main": f"{home}/src/{package}/__main__.py", "pyz": f"{spot.home}/tool.pyz",
        "call": f"{package}.core:main", "core": f"{home}/src/{package}/core.py", "results": [str(factor * each) for each in (3, 5, 12)],
    }  # fmt: skip
    files = {
        project: f'[project]\nname = "{package}"\nversion = "{old}"\nrequires-python = ">=3.11"\n\n[tool.{package}]\nfactor = {factor}\n',
        init: f'"""A small tool."""\n\n__version__ = "{old}"\n',
        values["core"]: f'"""What it does."""\n\nimport sys\n\n\ndef main() -> None:\n    """Print each argument {factor} times over."""\n    for each in sys.argv[1:]:\n        print(int(each) * {factor})\n',
        values["stats"]: '"""Numbers of numbers."""\n\n\ndef mean(values: list[float]) -> float:\n    """The mean; 0.0 of no values at all."""\n    return sum(values) / (len(values) - 1)\n\n\ndef spread(values: list[float]) -> float:\n    """Largest less smallest."""\n    return max(values) - min(values)\n',
    }  # fmt: skip
    return World(values, _DEEDS, {str(path): text for path, text in files.items()})


_DEEDS = (
    Deed(
        "version", "The package in @home@ is to be version @new@: say so in its @project@ and in its @init@, and change nothing else there.",
        "Both files say @new@.", ("@project@", "@init@"),
        "def test_version_in_both_places():\n    import tomllib\n\n    told = tomllib.loads(read(@project@))\n    assert told['project'] == {'name': @package@, 'version': @new@, 'requires-python': '>=3.11'}, 'the project says otherwise'\n    assert told['tool'] == {@package@: {'factor': @factor@}}, 'the settings are others'\n    assert re.findall(r'^__version__ = [\"\\'](.*)[\"\\']$', read(@init@), re.M) == [@new@], 'the package says otherwise'",
        ("sed -i 's/^version = \"@old@\"$/version = \"@new@\"/' @project@", "sed -i 's/\"@old@\"/\"@new@\"/' @init@"),
    ),
    Deed(
        "mean", "The function mean of @stats@ gives wrong results, and none at all for one value. Mend it so that it does what its docstring says; the other function is right.",
        "mean divides by the number of values and gives 0.0 of none.", ("@stats@",),
        "def test_mean():\n    for values, wanted in (([2, 4], '3.0 2'), ([7.5], '7.5 0.0'), ([1, 2, 6], '3.0 5')):\n        program = 'from ' + @package@ + f'.stats import mean, spread; print(mean({values}), spread({values}))'\n        assert run('python3', '-B', '-c', program, folder=@src@) == (0, wanted + '\\n'), 'mean or spread gives something else'\n    assert run('python3', '-B', '-c', 'from ' + @package@ + '.stats import mean; print(mean([]))', folder=@src@) == (0, '0.0\\n'), 'of no values it gives something else'",
        ("sed -i 's|return sum(values) / (len(values) - 1)|return sum(values) / len(values) if values else 0.0|' @stats@",),
    ),
    Deed(
        "module", "One should be able to say `python3 -m @package@ 3 5` in @src@, and get what main of core.py prints. The file that is lacking for it is @main@.",
        "@main@ calls main of core.", ("@main@",),
        "def test_module_runs():\n    assert run('python3', '-B', '-m', @package@, '3', '5', '12', folder=@src@) == (0, '\\n'.join([*@results@, ''])), 'it prints something else'",
        ("printf '%s\\n' 'from @package@.core import main' '' 'main()' >@main@",),
    ),
    Deed(
        "zip", "Pack what is in @src@ into one file that Python runs, @pyz@: `python3 @pyz@ 3 5` has to print what main of @package@/core.py prints.",
        "@pyz@ is a zip application that calls @call@.", ("@pyz@",),
        "def test_zip_runs():\n    import zipfile\n\n    assert run('python3', '-B', @pyz@, '3', '5', '12') == (0, '\\n'.join([*@results@, ''])), 'it prints something else'\n    with zipfile.ZipFile(@pyz@) as packed:\n        assert @package@ + '/core.py' in packed.namelist(), 'the package is not in it'",
        ("python3 -m zipapp @src@ -m @call@ -o @pyz@",),
    ),
)  # fmt: skip
