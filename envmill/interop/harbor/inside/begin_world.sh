#!/bin/bash
# Starts the server of tools, and ends well once it answers. It runs as root: an agent that is not root reads neither program nor state.
here=/srv/world
if [ ! -e /run/world.begun ]; then
    : >/run/world.begun
    cd /
    setsid /usr/bin/python3 -I -B "$here/envrun" mcp --scenario SCENARIO --http 127.0.0.1:8765 --record /var/lib/world/recordings \
        --sessions 16 --idle 86400 >/var/lib/world/log 2>&1 </dev/null &
fi
for _ in $(seq 150); do
    (exec 3<>/dev/tcp/127.0.0.1/8765) 2>/dev/null && exit 0
    sleep 0.1
done
cat /var/lib/world/log >&2
exit 1
