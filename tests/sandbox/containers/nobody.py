"""A box made by somebody who is not root: prints what came of it as JSON.

python -m tests.sandbox.containers.nobody IMAGES
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from envmill.base.errors import SandboxError
from envmill.sandbox.containers import CachedImage, lend
from envmill.sandbox.containers.box import Boxes


async def look(images: Path) -> dict[str, Any]:
    image = CachedImage(images / "small", "small", {})
    try:
        engine = await Boxes.open(images)
    except SandboxError as error:
        return {"why": error.message}
    async with lend(engine, image) as box:
        said = (await box.shell("id -u; rm -r /home; mkdir /home; echo mine > /etc/motd")).text
        layer = await box.snapshot()
        async with lend(engine, image, layer=layer) as branch:
            files = (await branch.shell("ls /home; cat /etc/motd")).text
        other = await box.run(["id"], user="ada")
        copy = await box.copy(["/tmp"])
        await copy.seal()
        shut = (await copy.run(["/bin/bash", "-c", "echo x >/etc/motd"])).code
        tell = (
            "while read -r name bits; do [ $name = CapPrm: ] && echo $bits; done </proc/self/status"
        )
        badges = [
            (await copy.run(["/bin/bash", "-c", tell], judges=each)).text for each in (False, True)
        ]
        await copy.down()
    weak = list(engine.condition.weak)
    await engine.close()
    return {
        "said": said,
        "files": files,
        "other": other.text,
        "weak": weak,
        "shut": shut,
        "badges": badges,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(look(Path(sys.argv[1])))))
