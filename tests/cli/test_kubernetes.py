"""The manifests of Kubernetes: each name that one mentions is made by another, and no pod has more rights than it needs."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from envmill.base.settings import ROOT, Settings
from tests.interop.exporters.consumers import HOUSES, build_house
from tests.soak import count

VALIDATOR, KUBERNETES = "kubernetes-validate==1.37.0", "1.34"

FOLDER = ROOT / "deploy/kubernetes"
Manifest = dict[str, Any]


def read_manifests() -> list[Manifest]:
    return [
        one
        for path in sorted(FOLDER.glob("*.yaml"))
        for one in yaml.safe_load_all(path.read_text())
    ]


MANIFESTS = read_manifests()
WORKLOADS = [one for one in MANIFESTS if one["kind"] in ("Deployment", "StatefulSet")]
by_name = pytest.mark.parametrize(
    "workload", WORKLOADS, ids=[one["metadata"]["name"] for one in WORKLOADS]
)


def find(kind: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in MANIFESTS if one["kind"] == kind}


def list_environment(workload: Manifest) -> Iterator[tuple[str, Any]]:
    for container in workload["spec"]["template"]["spec"]["containers"]:
        for one in container["env"]:
            yield one["name"], one.get("value") or one["valueFrom"]["secretKeyRef"]


def test_everything_lies_in_one_namespace() -> None:
    (namespace,) = find("Namespace")
    assert {one["metadata"]["namespace"] for one in MANIFESTS if one["kind"] != "Namespace"} == {
        namespace
    }


@by_name
def test_secrets_and_keys_that_a_pod_reads_are_in_the_example(workload: Manifest) -> None:
    secrets = {name: set(one["stringData"]) for name, one in find("Secret").items()}
    for name, value in list_environment(workload):
        if isinstance(value, dict):
            assert value["key"] in secrets[value["name"]], name
    for container in workload["spec"]["template"]["spec"]["containers"]:
        for source in container.get("envFrom", []):
            assert source["secretRef"]["name"] in secrets


@by_name
def test_no_secret_stands_in_a_manifest(workload: Manifest) -> None:
    for name, value in list_environment(workload):
        if re.search("KEY|SECRET|PASSWORD|AUTH|HEADERS|DATABASE", name):
            assert isinstance(value, dict), name


def test_the_example_holds_nothing_real() -> None:
    for secret in find("Secret").values():
        for name, value in secret["stringData"].items():
            assert "CHANGE" in value or name in ("region", "endpoint"), name


@by_name
def test_a_pod_has_no_right_that_it_does_not_need(workload: Manifest) -> None:
    pod = workload["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        own = container["securityContext"]
        assert own == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert container["resources"]["limits"]["memory"]


@by_name
def test_labels_claims_and_mounts_agree(workload: Manifest) -> None:
    spec, pod = workload["spec"], workload["spec"]["template"]["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    own = {one["metadata"]["name"] for one in spec.get("volumeClaimTemplates", [])}
    claimed = {
        one["persistentVolumeClaim"]["claimName"]
        for one in pod["volumes"]
        if "persistentVolumeClaim" in one
    }
    assert claimed <= set(find("PersistentVolumeClaim"))
    known = own | {one["name"] for one in pod["volumes"]}
    for container in pod["containers"]:
        assert {one["name"] for one in container["volumeMounts"]} <= known
    if workload["kind"] == "StatefulSet":
        assert spec["serviceName"] in find("Service")


def test_services_and_network_policies_mean_pods_that_are_there() -> None:
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in WORKLOADS]
    for service in find("Service").values():
        assert service["spec"]["selector"] in labels
    policies = find("NetworkPolicy").values()
    assert sorted(one["spec"]["podSelector"]["matchLabels"]["app"] for one in policies) == sorted(
        one["app"] for one in labels
    )
    for policy in policies:
        for rule in policy["spec"]["ingress"]:
            assert all(source["podSelector"]["matchLabels"] in labels for source in rule["from"])


def test_pods_ask_services_at_the_ports_these_have() -> None:
    ports = {f"{name}:{one['spec']['ports'][0]['port']}" for name, one in find("Service").items()}
    told = " ".join(path.read_text() for path in FOLDER.glob("*.yaml"))
    asked = set(re.findall(r"(envmill-\w+:\d+)", told))
    assert asked == {"envmill-postgres:5432", "envmill-server:4270"} <= ports


@pytest.mark.parametrize("name", ["envmill-server", "envmill-worker"])
def test_our_own_pods_get_settings_that_can_be_read(name: str, tmp_path: Path) -> None:
    """With the example's values, as the program reads its environment."""
    secrets = {name: one["stringData"] for name, one in find("Secret").items()}
    (workload,) = (one for one in WORKLOADS if one["metadata"]["name"] == name)
    environ = {
        name: value if isinstance(value, str) else secrets[value["name"]][value["key"]]
        for name, value in list_environment(workload)
    }
    settings = Settings.read({"ENVMILL_HOME": str(tmp_path), **environ})
    assert settings.lake == "s3://CHANGE/lake"
    if name == "envmill-server":
        assert settings.listen == "0.0.0.0"
        assert settings.port == 4270
        assert settings.database.reveal().startswith("postgresql")
        assert settings.origins == {"http://envmill-server:4270"}


def test_ours_run_as_the_user_of_the_image() -> None:
    (user,) = re.findall(r"useradd --uid (\d+)", (ROOT / "Dockerfile").read_text())
    for workload in WORKLOADS:
        if workload["metadata"]["name"] != "envmill-postgres":
            assert workload["spec"]["template"]["spec"]["securityContext"]["runAsUser"] == int(user)


@pytest.mark.soak(area="pools")
def test_the_schemas_of_kubernetes_hold_for_each_manifest() -> None:
    """Strictly: a field that Kubernetes does not know is refused, too."""
    if not count(0, 1):
        pytest.skip("it installs the schemas: make soak AREA=pools")
    house = HOUSES / f"{VALIDATOR.replace('==', '-')}-py{sys.version_info.minor}"
    if not house.exists():
        build_house(house, VALIDATOR, ["--prefer-binary", VALIDATOR])
    command = [str(house / "bin/python"), "-m", "kubernetes_validate", "--strict", "-k", KUBERNETES]
    paths = [str(path) for path in sorted(FOLDER.glob("*.yaml"))]
    done = subprocess.run([*command, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as broken:
        text = (FOLDER / "50-workers.yaml").read_text()
        broken.write(text.replace("podManagementPolicy", "podManagmentPolicy"))
        broken.flush()
        done = subprocess.run([*command, broken.name], capture_output=True, check=False)
    assert done.returncode != 0, "a word that is spelled wrongly was not found"
