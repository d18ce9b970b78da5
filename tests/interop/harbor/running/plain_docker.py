# pyright: basic, reportMissingImports=false
"""A Harbor environment of plain `docker build`, `run`, `exec` and `cp`, where there is no compose."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities


class PlainDocker(BaseEnvironment):
    """A container without a network. Its image is built from the folder's Dockerfile."""

    @staticmethod
    def type() -> str:
        return "plain-docker"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self) -> None:
        if not (self.environment_dir / "Dockerfile").exists():
            raise FileNotFoundError(self.environment_dir / "Dockerfile")

    async def _docker(
        self, *words: str, check: bool = True, timeout: float | None = 600
    ) -> ExecResult:
        process = await asyncio.create_subprocess_exec(
            "docker", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, err = await asyncio.wait_for(process.communicate(), timeout)
        result = ExecResult(
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            return_code=process.returncode or 0,
        )
        if check and result.return_code:
            raise RuntimeError(f"docker {words[0]}: {result.stderr[-800:]}")
        return result

    async def start(self, force_build: bool) -> None:
        self._name = f"plain-{uuid.uuid4().hex[:10]}"
        image = f"plain/{self._name}"
        await self._docker(
            "build", "--network", "none", "-q", "-t", image, str(self.environment_dir)
        )
        await self._docker(
            "run",
            "-d",
            "--init",
            "--network",
            "none",
            "--name",
            self._name,
            image,
            "sleep",
            "infinity",
        )
        await self.ensure_dirs(
            ["/logs/agent", "/logs/verifier", "/logs/artifacts", "/tests", "/solution"]
        )

    async def stop(self, delete: bool) -> None:
        await self._docker("rm", "-f", self._name, check=False)

    async def upload_file(self, source_path: Any, target_path: str) -> None:
        await self._docker(
            "exec", "-u", "0", self._name, "mkdir", "-p", str(Path(target_path).parent)
        )
        await self._docker("cp", str(source_path), f"{self._name}:{target_path}")

    async def upload_dir(self, source_dir: Any, target_dir: str) -> None:
        await self._docker("exec", "-u", "0", self._name, "mkdir", "-p", target_dir)
        await self._docker("cp", f"{source_dir}/.", f"{self._name}:{target_dir}")

    async def download_file(self, source_path: str, target_path: Any) -> None:
        Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        await self._docker("cp", f"{self._name}:{source_path}", str(target_path))

    async def download_dir(self, source_dir: str, target_dir: Any) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        await self._docker("cp", f"{self._name}:{source_dir}/.", str(target_dir))

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
        **_: Any,
    ) -> ExecResult:
        words = ["exec"]
        user = self._resolve_user(user)
        if user is not None:
            words += ["-u", str(user)]
        if cwd:
            words += ["-w", cwd]
        for name, value in (env or {}).items():
            words += ["-e", f"{name}={value}"]
        return await self._docker(
            *words, self._name, "bash", "-c", command, check=False, timeout=timeout_sec
        )
