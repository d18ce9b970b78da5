"""Mistakes that whoever writes errands makes, each as what it does to a faultless job."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from offline.errands.compose import CONTRADICTION, Job
from schemas.errand import Image

Spoil = Callable[[Job], Job]


def _contradict(job: Job) -> Job:
    return _ask(
        job, f"{job.errand.request}\n\nThe last of it: {job.errand.places[0]}. {CONTRADICTION}"
    )


def _reveal_answer(job: Job) -> Job:
    """Where nothing has to be worked out there is nothing to tell: it tells what to type."""
    told = (
        f"It should come to {job.errand.answers[0]}."
        if job.errand.answers
        else f"`{job.commands[0].splitlines()[0]}` will do."
    )
    return _ask(job, f"{job.errand.request}\n\n{told}")


def _forget_place(job: Job) -> Job:
    return replace(job, errand=job.errand.model_copy(update={"places": ["/srv"]}))


def _ask(job: Job, request: str) -> Job:
    return replace(job, errand=job.errand.model_copy(update={"request": request}))


def _demand_results(job: Job) -> Job:
    """Asks for results where only the beginning is meant."""
    return replace(job, initial_test=job.final_test)


def _test_by_luck(source: str) -> str:
    return (
        f'{source}\n\ndef test_it_is_quick():\n    assert time.time_ns() // 1000 % 3, "it took '
        'too long"\n'
    )


def _pass_untouched(job: Job) -> Job:
    functions = '\n\ndef test_it_is_done():\n    assert Path("/srv").is_dir(), "there is no /srv"\n'
    return replace(job, final_test=job.final_test.split("\n\n\ndef test_")[0] + "\n" + functions)


def _test_over_network(job: Job) -> Job:
    test = (
        "\n\ndef test_against_the_original():\n    import urllib.request\n\n"
        '    address = "deb.debian.org"\n    assert urllib.request.urlopen(f"http://{address}/", '
        "timeout=5).status == 200\n"
    )
    return replace(job, final_test=job.final_test + test)


def _test_another_value(job: Job) -> Job:
    return replace(
        job,
        final_test=job.final_test.replace("==", "!=", 1)
        if "==" in job.final_test
        else job.final_test + "\n)",
    )


def _change_image(job: Job, recipe: str = "", files: Mapping[str, str] | None = None) -> Job:
    old = job.image
    changed = Image(
        recipe=recipe or old.recipe,
        files=dict(old.files if files is None else files),
        services=old.services,
        volatile=old.volatile,
    )
    return replace(job, image=changed)


def _forget_file(job: Job) -> Job:
    """Where no file is copied, what the last line would have made."""
    if not job.image.files:
        return _change_image(job, job.image.recipe[: job.image.recipe.rindex("RUN ")])
    return _change_image(job, files=dict(list(job.image.files.items())[1:]))


def _fetch(job: Job) -> Job:
    return _change_image(job, job.image.recipe + "RUN apt-get install -y tree\n")


def _break_build(job: Job) -> Job:
    return _change_image(job, job.image.recipe + "RUN chown nosuchuser /srv\n")


def _leave_answer(job: Job) -> Job:
    """A note with what it should come to; where nothing has to be worked out, another builder's
    syntax."""
    if not job.errand.answers:
        return _change_image(job, "# syntax=docker/dockerfile:1\n" + job.image.recipe)
    return _change_image(
        job, files={**job.image.files, "root/srv/expected.txt": f"{job.errand.answers[0]}\n"}
    )


def _fail_at_times(job: Job) -> Job:
    """One machine in three is without its first file, or with a service that does not start."""
    if name := next(iter(job.image.services), ""):
        start = "test $(( $(date +%N | sed 's/^0*//') / 1000 % 3 )) -gt 0 && "
        flaky = job.image.services[name].model_copy(
            update={"start": f"{start}{job.image.services[name].start}"}
        )
        return replace(
            job,
            image=job.image.model_copy(update={"services": {**job.image.services, name: flaky}}),
        )
    first = next(iter(job.image.files), "root/srv").removeprefix("root")
    return _change_image(
        job, job.image.recipe + f"RUN bash -c '[ $((RANDOM % 3)) -gt 0 ] || rm -rf {first}'\n"
    )


def _miss_step(job: Job) -> Job:
    """Where there is but one it does nothing."""
    return replace(job, commands=job.commands[:-1] or ("true",))


def _stray(job: Job) -> Job:
    return replace(
        job, commands=(*job.commands[:-1], f"{job.commands[-1]}\necho done >/etc/errand-done")
    )


def _mistype(job: Job) -> Job:
    return replace(job, commands=(f"{job.commands[0]}\nnosuchcommand --now", *job.commands[1:]))


MISTAKES: dict[str, dict[str, Spoil]] = {
    "errand": {
        "contradicts": _contradict,
        "tells_answer": _reveal_answer,
        "forgets_place": _forget_place,
    },
    "initial_test": {
        "looks_ahead": _demand_results,
        "by_luck": lambda job: replace(job, initial_test=_test_by_luck(job.initial_test)),
        "no_python": lambda job: replace(job, initial_test=job.initial_test + "\nassert (\n"),
    },
    "final_test": {
        "passes_untouched": _pass_untouched,
        "needs_network": _test_over_network,
        "by_luck": lambda job: replace(job, final_test=_test_by_luck(job.final_test)),
        "another_value": _test_another_value,
    },
    "image": {
        "forgets_file": _forget_file,
        "fetches": _fetch,
        "breaks": _break_build,
        "leaves_answer": _leave_answer,
        "at_times": _fail_at_times,
    },
    "solution": {"misses_step": _miss_step, "strays": _stray, "mistypes": _mistype},
}
"""Prompt → mistake → how."""
