"""Print what is installed beside discreet, and what needs what, as a CycloneDX document: see scripts/sbom."""

import json
import re
from importlib.metadata import Distribution, distributions, version

#: What an empty environment has already.
NOT_OURS = {"pip", "setuptools", "wheel"}


def name_of(text: str) -> str:
    """Return a distribution's name as package indexes write it."""
    found = re.match(r"[A-Za-z0-9._-]+", text)
    assert found
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def purl(one: Distribution) -> str:
    """Return the address of a package in a list of materials."""
    return f"pkg:pypi/{name_of(one.name)}@{one.version}"


def licenses(one: Distribution) -> list[dict[str, object]]:
    """Return what a distribution says of its licence, as CycloneDX writes it."""
    expression, name = one.metadata.get("License-Expression"), one.metadata.get("License") or ""
    if expression:
        return [{"expression": expression}]
    return (
        [{"license": {"name": name}}] if name and "\n" not in name else []
    )  # some write the whole text there


def document() -> dict[str, object]:
    """Return the document: components, and for each what it needs of the others."""
    here = {name_of(one.name): one for one in distributions() if name_of(one.name) not in NOT_OURS}
    ours = here.pop("discreet")
    everything = {"discreet": ours, **dict(sorted(here.items()))}
    needs = {
        name: sorted(
            purl(here[other])
            for other in {
                name_of(text) for text in one.requires or () if one is ours or "extra ==" not in text
            }
            if other in here
        )
        for name, one in everything.items()
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": purl(ours),
                "name": "discreet",
                "version": version("discreet"),
                "purl": purl(ours),
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": purl(one),
                "name": name,
                "version": one.version,
                "purl": purl(one),
                "licenses": licenses(one),
            }
            for name, one in sorted(here.items())
        ],
        "dependencies": [
            {"ref": purl(one), "dependsOn": needs[name]} for name, one in sorted(everything.items())
        ],
    }


if __name__ == "__main__":
    print(json.dumps(document(), indent=1))
