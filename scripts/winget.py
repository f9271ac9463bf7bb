#!/usr/bin/env python3
"""winget's manifest: checks what is committed, and fills it in for a release.

    winget.py check
    winget.py fill VERSION DIST ADDRESS OUT

`check` holds packaging/winget against the rules of winget's schema 1.10 for what it has, and
against wix/main.wxs and Cargo.toml. `fill` takes checksums from DIST/SHA256SUMS and product codes from
the installers themselves, and checks what it wrote.
"""

import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
COMMITTED = ROOT / "packaging/winget"
NAME = "Highwater.Highwater"
FILES = {"version": f"{NAME}.yaml", "installer": f"{NAME}.installer.yaml", "defaultLocale": f"{NAME}.locale.en-US.yaml"}
SCOPES = ("user", "machine")

GUID = r"\{[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}\}"
TEXT = r"(?s).+"
# What must be there and what may be, with the form of each text; None is no text.
COMMON = {"PackageIdentifier": re.escape(NAME), "PackageVersion": r"[0-9]+(\.[0-9]+){2}", "ManifestVersion": r"1\.10\.0"}
REQUIRED = {
    "version": {**COMMON, "DefaultLocale": "en-US", "ManifestType": "version"},
    "installer": {**COMMON, "Installers": None, "ManifestType": "installer"},
    "defaultLocale": {
        **COMMON,
        "PackageLocale": "en-US",
        "Publisher": r".{2,256}",
        "PackageName": r".{2,256}",
        "License": r".{3,512}",
        "ShortDescription": r".{3,256}",
        "ManifestType": "defaultLocale",
    },
}
OPTIONAL = {
    "version": {},
    "installer": {
        "Platform": None,
        "MinimumOSVersion": r"[0-9]+(\.[0-9]+){0,3}",
        "InstallerType": "msi",
        "InstallModes": None,
        "UpgradeBehavior": "install|uninstallPrevious|deny",
        "FileExtensions": None,
    },
    "defaultLocale": {"Description": r"(?s).{3,10000}", "Moniker": r".{1,40}", "Tags": None},
}
INSTALLER = {
    "Architecture": "x64",
    "Scope": "user|machine",
    "InstallerUrl": r"https://.+",
    "InstallerSha256": r"[0-9A-F]{64}",
    "ProductCode": GUID,
    "AppsAndFeaturesEntries": None,
}
INSTALLER_OPTIONAL = {"ElevationRequirement": "elevationRequired|elevationProhibited|elevatesSelf"}
ENTRY = {"DisplayName": TEXT, "Publisher": TEXT, "UpgradeCode": GUID}


def expect(fine, complaint):
    if not fine:
        sys.exit(f"winget: {complaint}")


def check_keys(where, having, required, optional):
    expect(isinstance(having, dict), f"{where} is no table")
    missing, strange = required.keys() - having.keys(), having.keys() - required.keys() - optional.keys()
    expect(not missing, f"{where} lacks {', '.join(sorted(missing))}")
    expect(not strange, f"{where} has {', '.join(sorted(strange))}, which nobody knows")
    for key, value in having.items():
        form = required.get(key) or optional.get(key)
        expect(form is None or isinstance(value, str) and re.fullmatch(form, value), f"{where}: {key} cannot be {value!r}")


def check(folder):
    """Holds a folder's three files against the rules; returns them."""
    manifests = {}
    for kind, name in FILES.items():
        # All that is not a list or a table is a text, as in the schema: 1.10 is no number.
        manifests[kind] = yaml.load((folder / name).read_text(encoding="utf-8"), yaml.BaseLoader)
        check_keys(name, manifests[kind], REQUIRED[kind], OPTIONAL[kind])
    versions = {manifest["PackageVersion"] for manifest in manifests.values()}
    expect(len(versions) == 1, f"versions differ: {', '.join(sorted(versions))}")
    installers = manifests["installer"]["Installers"]
    expect([one["Scope"] for one in installers] == list(SCOPES), "the installers are not those for a user and for the machine")
    upgrade_codes = wix_upgrade_codes()
    for one in installers:
        scope = one["Scope"]
        check_keys(f"the {scope}'s installer", one, INSTALLER, INSTALLER_OPTIONAL)
        expect(one["InstallerUrl"].endswith(f"/highwater-{versions.copy().pop()}-{scope}.msi"), f"{one['InstallerUrl']} is another file")
        (entry,) = one["AppsAndFeaturesEntries"]
        check_keys(f"the {scope}'s entry", entry, ENTRY, {})
        expect(entry["UpgradeCode"] == f"{{{upgrade_codes[scope]}}}", f"the {scope}'s upgrade code is not that of wix/main.wxs")
        product = re.search(r'<Product [^>]*Name="([^"]+)"[^>]*Manufacturer="([^"]+)"', wix()).groups()
        expect((entry["DisplayName"], entry["Publisher"]) == product, "name and publisher are not those of wix/main.wxs")
    extensions = sorted(set(re.findall(r'FileAssociations" Name="\.(\w+)"', wix())))
    expect(manifests["installer"]["FileExtensions"] == extensions, "the types of files are not those of wix/main.wxs")
    return manifests


def wix():
    return (ROOT / "wix/main.wxs").read_text(encoding="utf-8")


def wix_upgrade_codes():
    machine, user = re.findall(r'<\?define UpgradeCode = "([0-9A-F-]+)" \?>', wix())
    return {"machine": machine, "user": user}


def check_committed():
    cargo = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    texts = check(COMMITTED)["defaultLocale"]
    stated = {key: re.search(rf'^{key} = "(.*)"', cargo, re.MULTILINE).group(1) for key in ("version", "description", "license")}
    expect(texts["PackageVersion"] == stated["version"], f"the version is not Cargo.toml's, {stated['version']}")
    expect(texts["ShortDescription"] == stated["description"], "the description is not Cargo.toml's")
    expect(texts["License"] == stated["license"], "the licence is not Cargo.toml's")
    print("winget's manifest is well-formed, and agrees with wix/main.wxs and Cargo.toml")


def checksums(dist):
    lines = (dist / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    return {name.lstrip("*"): digest.upper() for digest, name in (line.split(maxsplit=1) for line in lines)}


def product_code(installer):
    table = subprocess.run(["msiinfo", "export", str(installer), "Property"], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    return re.search(r"^ProductCode\t(\S+)", table, re.MULTILINE).group(1).upper()


def fill(version, dist, address, out):
    digests = checksums(dist)
    out.mkdir(parents=True, exist_ok=True)
    for name in FILES.values():
        text = (COMMITTED / name).read_text(encoding="utf-8")
        text = re.sub(r"^PackageVersion: .*$", f"PackageVersion: {version}", text, flags=re.MULTILINE)
        text = re.sub(r"^# A form:.*\n# .*\n", "", text, flags=re.MULTILINE)
        for scope in SCOPES:
            file = f"highwater-{version}-{scope}.msi"
            if name != FILES["installer"]:
                continue
            expect(file in digests, f"{dist}/SHA256SUMS does not name {file}")
            filled = (f"{address.rstrip('/')}/{file}", digests[file], product_code(dist / file))
            pattern = rf"(  Scope: {scope}\n(?:  E.*\n)?  InstallerUrl: ).*(\n  InstallerSha256: ).*(\n  ProductCode: ).*"
            text, count = re.subn(pattern, r"\g<1>{}\g<2>'{}'\g<3>'{}'".format(*filled), text)
            expect(count == 1, f"the form has no place for {file}")
        (out / name).write_text(text, encoding="utf-8")
    check(out)
    print(f"winget's manifest of {version} is in {out}")


def main():
    match sys.argv[1:]:
        case ["check"]:
            check_committed()
        case ["fill", version, dist, address, out]:
            fill(version, Path(dist), address, Path(out))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
