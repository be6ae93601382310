"""The files for Kubernetes, which are not run: YAML that says what commands understand, and names that fit together."""

from importlib import import_module
from pathlib import Path

import pytest
from tests.clusters import local_cluster

from discreet import Corpus, Release
from discreet.corpus import write_shards

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
TLS = {"ca.pem", "cert.pem", "key.pem"}


def documents():
    yaml = pytest.importorskip("yaml")
    for file in sorted(FOLDER.glob("*.yaml")):
        yield from yaml.safe_load_all(file.read_text())


def of_kind(kind):
    return {one["metadata"]["name"]: one for one in documents() if one["kind"] == kind}


def pods():
    for one in documents():
        if one["kind"] in ("Deployment", "Job"):
            yield one["metadata"]["name"], one["spec"]["template"]


def containers():
    for name, pod in pods():
        for one in pod["spec"]["containers"]:
            yield name, pod["spec"], one


def options_of(command):
    known = {name for parameter in command.params for name in parameter.opts + parameter.secondary_opts}
    return {name for name in known if name.startswith("--")}


def commands():
    pytest.importorskip("distributed", reason="needs the extra scale")
    return {
        ("dask", what): import_module(f"distributed.cli.dask_{what}").main for what in ("scheduler", "worker")
    }


def test_every_file_is_yaml_of_known_kinds():
    kinds = {one["kind"] for one in documents()}
    assert kinds == {"PersistentVolumeClaim", "Service", "Deployment", "NetworkPolicy", "Job"}
    assert all(one["apiVersion"] and one["metadata"]["name"].startswith("discreet") for one in documents())


def test_commands_know_their_options():
    known = commands()
    found = [one for _, _, one in containers() if one["command"] != ["python", "-c"]]
    assert len(found) == 2
    for one in found:
        options = options_of(known[tuple(one["command"])])
        for argument in one["args"]:
            if argument.startswith("--"):
                assert argument.split("=")[0] in options, argument
    with pytest.raises(AssertionError):
        assert "--tls-folder" in options_of(known["dask", "worker"])


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")
def test_the_fit_runs(tmp_path):
    (job,) = of_kind("Job").values()
    (program,) = job["spec"]["template"]["spec"]["containers"][0]["args"]
    corpus = Corpus([[3, 0], [0, 3]] * 200, ["bed", "law"], words_are_public=True)
    for folder in ("corpus", "ledger"):
        (tmp_path / folder).mkdir()
    write_shards(corpus, tmp_path / "corpus" / "shards")
    program = program.replace("/corpus", f"{tmp_path}/corpus").replace("/ledger/", f"{tmp_path}/ledger/")
    program = program.replace("n_topics=50", "n_topics=2, allow_unlearnable=True")
    with local_cluster(1) as client:
        address = client.scheduler.address
        program = program.replace("tls://discreet-scheduler:8786", address)
        program = program.replace(", security=Security(**files, require_encryption=True)", "")
        exec(program, {})
    assert Release.load(tmp_path / "ledger" / "release").vocabulary == ("bed", "law")


def test_scheduler_service_and_addresses_fit_together():
    (service,) = of_kind("Service").values()
    port = service["spec"]["ports"][0]["targetPort"]
    scheduler = of_kind("Deployment")["discreet-scheduler"]["spec"]
    assert service["spec"]["selector"].items() <= scheduler["template"]["metadata"]["labels"].items()
    assert f"--host=tls://0.0.0.0:{port}" in scheduler["template"]["spec"]["containers"][0]["args"]
    address = f"tls://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert (
        address
        in of_kind("Deployment")["discreet-workers"]["spec"]["template"]["spec"]["containers"][0]["args"]
    )
    (job,) = of_kind("Job").values()
    assert f'Client("{address}", security=' in job["spec"]["template"]["spec"]["containers"][0]["args"][0]
    for deployment in of_kind("Deployment").values():
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_volumes_are_there_and_shards_lie_at_one_path():
    claims = set(of_kind("PersistentVolumeClaim"))
    corpus = set()
    for _, pod, one in containers():
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in one["volumeMounts"]} == set(volumes)
        for mount in one["volumeMounts"]:
            claim = volumes[mount["name"]].get("persistentVolumeClaim")
            assert claim is None or claim["claimName"] in claims
            if mount["name"] == "corpus":
                corpus.add(mount["mountPath"])
    assert corpus == {"/corpus"}
    assert of_kind("PersistentVolumeClaim")["discreet-corpus"]["spec"]["accessModes"] == ["ReadWriteMany"]


def test_everything_goes_over_tls_in_one_image_without_rights():
    images = set()
    for _, pod, one in containers():
        images.add(one["image"])
        assert "tls://" in " ".join(one["args"])
        files = {argument.split("/")[-1] for argument in one["args"] if argument.startswith("--tls-")}
        assert files == TLS or "require_encryption=True" in one["args"][0]
        (secret,) = [volume["secret"]["secretName"] for volume in pod["volumes"] if "secret" in volume]
        assert secret == "discreet-tls"
        assert one["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert one["securityContext"]["readOnlyRootFilesystem"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
    assert len(images) == 1  # the same bytes come of the same versions only
    (policy,) = of_kind("NetworkPolicy").values()
    chosen = policy["spec"]["podSelector"]["matchLabels"]
    assert all(chosen.items() <= pod["metadata"]["labels"].items() for _, pod in pods())
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_no_exact_sum_is_spilled_to_a_named_file_and_a_fit_does_not_start_again():
    workers = of_kind("Deployment")["discreet-workers"]["spec"]["template"]["spec"]["containers"][0]
    told = {one["name"]: one["value"] for one in workers["env"]}
    dask = pytest.importorskip("dask", reason="needs the extra scale")
    import_module("distributed")
    with dask.config.set(dask.config.collect_env(told)):
        for key, value in (("worker.memory.target", False), ("worker.memory.spill", False)):
            assert dask.config.get(f"distributed.{key}") is value
        assert dask.config.get("distributed.comm.require-encryption") is True
    assert told["TMPDIR"] in {mount["mountPath"] for mount in workers["volumeMounts"]}
    (job,) = of_kind("Job").values()
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
