"""Mends that no reference path makes: sloppy ones, which a health check must not take for right,
and right ones by another road."""

from typing import NamedTuple

RESTART = "services restart"


class Mend(NamedTuple):
    """One fault of a system's first variation, what somebody does about it, and whether that is a
    mend."""

    system: str
    operator: str
    handle: str
    script: str
    holds: bool


MENDS: dict[str, Mend] = {
    "no limit at all": Mend("backup", "wrong_number", "limit", "sed -i 's/^most=.*/most=999/' /etc/nightsave/settings", False),
    "a shelf for everybody": Mend("backup", "wrong_owner", "shelf", "chmod 777 /var/backups/nightsave", False),
    "made as root": Mend("nightly", "wrong_user", "who", "sed -i 's/ [a-z]* .usr/ root \\/usr/' /etc/cron.d/stocktake", False),
    "a report folder for everybody": Mend("nightly", "wrong_owner", "shelf", "chmod 777 /var/lib/stocktake", False),
    "letters of any size": Mend("mailqueue", "wrong_number", "size", "sed -i 's/^size=.*/size=999999/' /etc/postroom/settings", False),
    "a spool for everybody": Mend("mailqueue", "wrong_mode", "incoming", "chmod 777 /var/spool/postroom/incoming", False),
    "every amount counts but one": Mend("pipeline", "wrong_number", "least", "sed -i 's/^LEAST=.*/LEAST=2/' /etc/harvest.env", False),
    "forms of any size": Mend(
        "proxy", "wrong_number", "body", f"sed -i 's/body_size .*;/body_size 0;/' /etc/nginx/conf.d/tickets.conf; {RESTART}", False
    ),
    "settings for everybody": Mend("proxy", "wrong_mode", "settings", f"chmod 666 /etc/tickets/app.ini; {RESTART}", False),
    "a door to every address": Mend(
        "website", "wrong_port", "listen", f"sed -i 's/listen .*;/listen 8081;/' /etc/nginx/conf.d/orchard.conf; {RESTART}", False
    ),
    "rotated with every byte": Mend("rotation", "wrong_number", "size", "sed -i 's/size .*/size 1/' /etc/logrotate.d/weigh", False),
    "a worker as somebody else": Mend(
        "supervised", "wrong_user", "who",
        "sed -i 's/^user=.*/user=nobody/' /etc/supervisor/conf.d/sorter.conf; chmod 777 "
f"/var/log/sorter; {RESTART}", False,
    ),
    "a name server for every address": Mend(
        "names", "wrong_address", "listen", f"sed -i '/^listen-address/d' /etc/mill.lan/dnsmasq.conf; {RESTART}", False
    ),
    "a notice board for everybody": Mend("share", "wrong_mode", "board", "chmod 777 /srv/survey/notices", False),
    "books for everybody": Mend("ledger", "wrong_owner", "folder", "chmod 777 /var/lib/ledger", False),
    "a hook for everybody": Mend("repository", "not_executable", "guard", "chmod 777 /srv/git/notes.git/hooks/pre-receive", False),
    "places for everybody": Mend("service", "wrong_mode", "data", f"chmod 666 /srv/quotes/places.csv; {RESTART}", False),
    "a Makefile for everybody": Mend(
        "build", "wrong_name", "libraries", "sed -i 's/^LDLIBS.*/LDLIBS = -lm/' /srv/convert/Makefile; chmod 666 "
"/srv/convert/Makefile",
        False,
    ),
    "the hook from its master, root's": Mend(
        "repository", "missing_file", "guard", "cp /srv/git/masters/pre-receive /srv/git/notes.git/hooks/pre-receive", True
    ),
    "by git itself": Mend(
        "repository", "wrong_switch", "forward", "git config -f /srv/git/notes.git/config receive.denyNonFastForwards true", True
    ),
    "days of the week in words": Mend(
        "nightly", "wrong_schedule", "time", "sed -i 's/^[0-9].* reporter/30 2 * * * reporter/' /etc/cron.d/stocktake", True
    ),
    "settings written anew": Mend(
        "pipeline", "wrong_path", "input", "f=/etc/harvest.env; sed \"s|^INPUT=.*|INPUT=/srv/harvest/in|\" $f >/tmp/n; mv "
"/tmp/n $f", True
    ),
    "an array of libraries": Mend(
        "build", "wrong_name", "libraries", "sed -i 's/^LDLIBS.*/LDLIBS := -lm -lc/' /srv/convert/Makefile", True,
    ),
    "a page more": Mend(
        "website", "wrong_name", "index",
        "sed -i 's/index .*;/index start.html index.html;/' "
f"/etc/nginx/conf.d/orchard.conf; {RESTART}", True,
    ),
    "built where it stands": Mend(
        "build", "wrong_name", "libraries", "cd /srv/convert; make || sed -i 's/^LDLIBS.*/LDLIBS = -lm/' Makefile; make", True
    ),
    "built before it was mended": Mend(
        "build", "stale_link", "current", "cd /srv/convert; make; ln -sfn v3 include/current", True
    ),
    "mended, and left what people leave": Mend(
        "ledger", "wrong_name", "money", "cd /etc; cp ledger.conf ledger.conf.bak; sed -i 's/^currency=.*/currency=EUR/' "
"ledger.conf; "
        "cd /root; echo notes >todo; echo ls >.bash_history; touch .todo.swp; mkdir -p .cache/x; "
"git init -q d; "
        "mkdir -p /home/me; cp -r d /home/me; echo 1 >/home/me/.viminfo; echo 1 >/tmp/x; echo 1 "
">/var/tmp/x; python3 -c 'import colorsys'",
        True,
    ),
    "rights in letters": Mend("share", "wrong_mode", "drop", "chmod a-r,a+wx,u+r,+t /srv/survey/drop", True),
    "copied over, and the copy kept": Mend(
        "supervised", "missing_file", "program", f"install -m 755 /opt/sorter/release/worker.py /opt/sorter/worker.py; {RESTART}", True
    ),
}  # fmt: skip
