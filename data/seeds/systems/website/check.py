"""Whether the site shows its front page, its downloads, and its own page for what is missing."""

from probing import Values, fetch, probe, report, want, want_closed, want_loopback


@probe
def page(v: Values) -> None:
    status, text = fetch(v["port"])
    want(status == 200, f"the front page answers {status}")
    want(f"Welcome to {v['site']}, release {v['release']}." in text, "the front page is not that of the present release")
    want_loopback(v["port"])
    want_closed(f"/etc/nginx/conf.d/{v['site']}.conf", "root:root", "644")
    want_closed(f"/srv/{v['site']}/releases/{v['release']}/start.html", "root:root", "644")
    want_closed("/var/log/nginx", "www-data:adm", "755")


@probe
def downloads(v: Values) -> None:
    status, text = fetch(v["port"], f"/downloads/{v['file']}")
    want(status == 200, f"a download answers {status}")
    want("as of this season" in text, "a download has the wrong content")
    want_closed(f"/srv/{v['site']}/files", "root:root", "755")


@probe
def missing(v: Values) -> None:
    status, text = fetch(v["port"], "/no-such-page")
    want(status == 404, f"an address that does not exist answers {status}")
    want(f"{v['site']} has no such page" in text, "an address that does not exist shows a page that is not ours")


report()
