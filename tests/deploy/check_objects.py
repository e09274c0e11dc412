#!/usr/bin/env python3
"""Checks of the deployment's objects that no schema makes: check_objects.py CEPHCSI FOLDER.

FOLDER holds what the tools rendered: helm-EXAMPLE.yaml from the chart, kustomize-OVERLAY.yaml from
the overlays. Each check is a function named as a sentence. Ends with 'N passed, M failed, 0 skipped'.
"""
import json
import pathlib
import re
import subprocess
import sys

import yaml

CEPHCSI, RENDERED = sys.argv[1], pathlib.Path(sys.argv[2])
DEPLOY = pathlib.Path("deploy")
# kinds that must be there once each driver is deployed
KINDS = {"CSIDriver", "Deployment", "DaemonSet", "ServiceAccount", "ClusterRole", "ClusterRoleBinding",
         "Role", "RoleBinding", "Service", "ConfigMap", "NetworkPolicy", "PodDisruptionBudget"}
PINNED = re.compile(r"^[a-z0-9./-]+:v\d+\.\d+\.\d+$")


def load(path):
    return [o for o in yaml.safe_load_all(path.read_text()) if o]


def rendered():
    return {p.stem: load(p) for p in sorted(RENDERED.glob("*.yaml"))}


def of_kind(objects, *kinds):
    return [o for o in objects if o["kind"] in kinds]


def name(o):
    return f"{o['kind']}/{o['metadata']['name']}"


def pods(objects):
    """The workloads with their pod templates."""
    return [(o, o["spec"]["template"]) for o in of_kind(objects, "Deployment", "DaemonSet")]


def containers(objects):
    return [(o, c) for o, t in pods(objects) for c in t["spec"]["containers"]]


def normal(o):
    """The same for objects that mean the same: order of arguments and the form of JSON do not count."""
    o = json.loads(json.dumps(o))
    if o["kind"] == "ConfigMap":
        o["data"] = {k: json.loads(v) for k, v in o["data"].items()}
    for _, c in containers([o]):
        c["args"] = sorted(c["args"])
    return o


def same_objects(helm, kustomize):
    ours = {name(o): normal(o) for o in helm}
    theirs = {name(o): normal(o) for o in kustomize if o["kind"] != "Namespace"}
    assert ours.keys() == theirs.keys(), f"only in one: {sorted(ours.keys() ^ theirs.keys())}"
    for key, value in ours.items():
        assert value == theirs[key], f"{key} differs:\n{value}\n{theirs[key]}"


def kustomize_and_chart_agree(all_objects):
    for example in ("three-zones", "cephfs"):
        same_objects(all_objects[f"helm-{example}"], all_objects[f"kustomize-{example}"])


def each_driver_has_every_kind(all_objects):
    for key, objects in all_objects.items():
        missing = KINDS - {o["kind"] for o in objects}
        assert not missing, f"{key}: no {missing}"


def capacity_and_topology_are_on(all_objects):
    for key, objects in all_objects.items():
        assert all(o["spec"]["storageCapacity"] for o in of_kind(objects, "CSIDriver")), key
        provisioners = [c for _, c in containers(objects) if c["name"] == "csi-provisioner"]
        assert provisioners, key
        for c in provisioners:
            wanted = {"--enable-capacity=true", "--capacity-ownerref-level=2", "--strict-topology=true",
                      "--immediate-topology=false", "--feature-gates=Topology=true"}
            assert wanted <= set(c["args"]), f"{key}: {wanted - set(c['args'])}"
            assert {"NAMESPACE", "POD_NAME"} <= {e["name"] for e in c["env"]}, key


def kubelet_mounts_with_the_labels_of_selinux(all_objects):
    for key, objects in all_objects.items():
        assert all(o["spec"]["seLinuxMount"] is True for o in of_kind(objects, "CSIDriver")), key


def images_are_pinned_and_the_same_everywhere(all_objects):
    values = yaml.safe_load((DEPLOY / "chart/values.yaml").read_text())["sidecars"]
    for key, objects in all_objects.items():
        for o, c in containers(objects):
            assert PINNED.match(c["image"]), f"{key} {name(o)}: {c['image']}"
            sidecar = c["name"].removeprefix("csi-")
            assert sidecar not in values or c["image"] == values[sidecar], f"{key} {name(o)}: {c['image']}"
    images = load(DEPLOY / "operator/image-set.yaml")[0]["data"]
    driver = {c["image"] for objects in all_objects.values() for _, c in containers(objects)
              if c["name"].endswith("plugin")}
    assert driver == {images["plugin"]}, driver


def mounts_have_volumes_and_volumes_are_used(all_objects):
    for key, objects in all_objects.items():
        for o, template in pods(objects):
            volumes = {v["name"] for v in template["spec"]["volumes"]}
            used = {m["name"] for c in template["spec"]["containers"] for m in c["volumeMounts"]}
            assert volumes == used, f"{key} {name(o)}: {volumes ^ used}"


def only_the_node_plugin_is_privileged(all_objects):
    for key, objects in all_objects.items():
        for o, c in containers(objects):
            context = c["securityContext"]
            where = f"{key} {name(o)} {c['name']}"
            assert context["readOnlyRootFilesystem"], where
            if o["kind"] == "DaemonSet" and c["name"].endswith("plugin"):
                continue
            assert "privileged" not in context and context["capabilities"]["drop"] == ["ALL"], where
            assert context["allowPrivilegeEscalation"] is False, where
        for o in of_kind(objects, "Deployment"):
            pod = o["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsNonRoot"], f"{key} {name(o)}"
            assert not any("hostPath" in v for v in pod["volumes"]), f"{key} {name(o)}"


def the_data_path_has_no_memory_limit_and_outlives_its_pod(all_objects):
    for key, objects in all_objects.items():
        for o in of_kind(objects, "DaemonSet"):
            pod = o["spec"]["template"]["spec"]
            assert pod.get("hostPID") and pod.get("hostNetwork"), f"{key} {name(o)}"
            plugins = [c for c in pod["containers"] if c["name"].endswith("plugin")]
            assert plugins, f"{key} {name(o)}"
            for c in plugins:
                limits = c["resources"].get("limits", {})
                assert "memory" not in limits, f"{key} {name(o)} {c['name']}: {limits}"


def rights_are_named_and_bound(all_objects):
    for key, objects in all_objects.items():
        known = {name(o) for o in objects}
        for o in of_kind(objects, "ClusterRoleBinding", "RoleBinding"):
            assert f"{o['roleRef']['kind']}/{o['roleRef']['name']}" in known, f"{key} {name(o)}"
            for subject in o["subjects"]:
                assert f"ServiceAccount/{subject['name']}" in known, f"{key} {name(o)}"
        for o in of_kind(objects, "ClusterRole", "Role"):
            for rule in o["rules"]:
                assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"], name(o)
                if "secrets" in rule["resources"]:
                    assert rule["verbs"] == ["get"] and o["kind"] == "Role", name(o)
        for _, template in pods(objects):
            assert f"ServiceAccount/{template['spec']['serviceAccountName']}" in known, key


def every_right_has_its_reason(_):
    lines = (DEPLOY / "chart/templates/rbac.yaml").read_text().splitlines()
    above = ""
    for line in lines:
        if line.strip().startswith("verbs:"):
            assert above.startswith("#") or "else" in above, f"no reason above: {line}"
        above = line.strip()
    for path in DEPLOY.glob("kustomize/base/*/manifests.yaml"):
        text = path.read_text()
        for rule in re.findall(r"resources:.*?verbs: \[.*?\]", text, re.DOTALL):
            reason = " ".join(line for line in rule.splitlines() if "#" in line)
            verbs = re.search(r"verbs: \[(.*)\]", rule).group(1).split(", ")
            assert all(re.search(rf"\b{verb}\b", reason) for verb in verbs), f"{path}: {rule}"


def selectors_find_pods(all_objects):
    for key, objects in all_objects.items():
        labels = [t["metadata"]["labels"].items() for _, t in pods(objects)]
        selectors = [(o, o["spec"]["selector"]) for o in of_kind(objects, "Service")]
        selectors += [(o, o["spec"]["selector"]["matchLabels"]) for o in of_kind(
            objects, "Deployment", "DaemonSet", "PodDisruptionBudget", "PodMonitor")]
        selectors += [(o, o["spec"]["podSelector"]["matchLabels"]) for o in of_kind(objects, "NetworkPolicy")]
        for o, selector in selectors:
            found = [found for found in labels if selector.items() <= found]
            assert len(found) == 1, f"{key} {name(o)} selects {len(found)} workloads"


def classes_name_a_driver_and_parse(all_objects):
    for key, objects in all_objects.items():
        drivers = {o["metadata"]["name"] for o in of_kind(objects, "CSIDriver")}
        for o in of_kind(objects, "StorageClass", "VolumeSnapshotClass"):
            assert o.get("provisioner", o.get("driver")) in drivers, f"{key} {name(o)}"
            assert all(isinstance(v, str) for v in o["parameters"].values()), f"{key} {name(o)}"
            pools = o["parameters"].get("topologyConstrainedPools")
            if pools:
                assert len(json.loads(pools)) == 3, f"{key} {name(o)}"
                assert o["volumeBindingMode"] == "WaitForFirstConsumer", f"{key} {name(o)}"
        for o in of_kind(objects, "VolumeSnapshotClass"):
            assert set(o) == {"apiVersion", "kind", "metadata", "driver", "deletionPolicy", "parameters"}


def the_driver_knows_its_arguments(all_objects):
    lines = {tuple(c["args"]) for objects in all_objects.values() for _, c in containers(objects)
             if c["image"].startswith("localhost/cephzone")}
    for path in DEPLOY.glob("nomad/*.nomad.hcl"):
        lines.add(tuple(re.findall(r'^ +"(--[^"]+)",$', path.read_text(), re.MULTILINE)))
    for driver in load(DEPLOY / "rook/zones/drivers.yaml"):
        for plugin in ("nodePlugin", "controllerPlugin"):
            for who, args in driver["spec"][plugin].get("containerExtraArgs", {}).items():
                if who.endswith("plugin"):
                    lines.add(tuple(args))
    assert len(lines) >= 8, lines
    for line in lines:
        result = subprocess.run([CEPHCSI, *line, "--version"], capture_output=True, text=True, check=False)
        assert result.returncode == 0, f"{line}: {result.stderr.splitlines()[:1]}"


def patches_for_deployers_change_the_image_alone(_):
    image = load(DEPLOY / "operator/image-set.yaml")[0]["data"]
    assert set(image) == {"plugin"} and PINNED.match(image["plugin"]), image
    assert load(DEPLOY / "operator/driver-image.yaml") == [{"spec": {"imageSet": {"name": "cephzone-images"}}}]
    assert load(DEPLOY / "rook/image-set-1.20.yaml")[0]["data"] == image
    values = load(DEPLOY / "rook/values-1.20.yaml")[0]
    assert values.keys() == {"csi"} and values["csi"].keys() == {"cephcsi"}, values
    assert ":".join(values["csi"]["cephcsi"][k] for k in ("repository", "tag")) == image["plugin"], values
    old = load(DEPLOY / "rook/image-1.14-1.19.yaml")[0]["data"]
    assert old == {"ROOK_CSI_CEPH_IMAGE": image["plugin"], "ROOK_CSI_ALLOW_UNSUPPORTED_VERSION": "true"}, old


def drivers_of_the_operator_use_known_fields(_):
    drivers = load(DEPLOY / "rook/zones/drivers.yaml")
    assert len(drivers) == 2
    for driver in drivers:
        where = driver["metadata"]["name"]
        assert (driver["apiVersion"], driver["kind"]) == ("csi.ceph.io/v1", "Driver"), where
        assert re.match(r"^rook-ceph\.(rbd|cephfs)\.csi\.ceph\.com$", where), where
        assert set(driver["spec"]) == {"nodePlugin", "controllerPlugin"}, where
        assert set(driver["spec"]["nodePlugin"]) <= {"topology", "containerExtraArgs"}, where
        arguments = driver["spec"]["controllerPlugin"]["containerExtraArgs"]["csi-provisioner"]
        assert not any("capacity" in a for a in arguments), "the operator's csi-provisioner ends with capacity"


def rook_gets_what_the_driver_adds(_):
    drivers, rights, classes = (load(DEPLOY / f"rook/zones/{part}.yaml") for part in ("drivers", "rbac", "classes"))
    names = {d["metadata"]["name"] for d in drivers}
    for driver in drivers:
        who = "csi-%splugin" % driver["metadata"]["name"].split(".")[1]
        arguments = driver["spec"]["controllerPlugin"]["containerExtraArgs"][who]
        assert "--publish-capacity=true" in arguments, arguments
        assert any(a.startswith("--domainlabels=") for a in arguments), arguments
    allowed = {(resource, verb) for o in of_kind(rights, "Role", "ClusterRole") for rule in o["rules"]
               for resource in rule["resources"] for verb in rule["verbs"]}
    assert {("csistoragecapacities", "create"), ("nodes", "patch"), ("pods/eviction", "create")} <= allowed, allowed
    roles = {name(o) for o in rights}
    for o in of_kind(rights, "RoleBinding", "ClusterRoleBinding"):
        assert f"{o['roleRef']['kind']}/{o['roleRef']['name']}" in roles, name(o)
        assert {s["name"] for s in o["subjects"]} == {f"ceph-csi-{t}-ctrlplugin-sa" for t in ("rbd", "cephfs")}, name(o)
    for o in classes:
        assert o["provisioner"] in names and o["volumeBindingMode"] == "WaitForFirstConsumer", name(o)
        assert len(json.loads(o["parameters"]["topologyConstrainedPools"])) == 3, name(o)
        assert "pool" not in o["parameters"], name(o)
    assert load(DEPLOY / "rook/zones/csidriver-patch.yaml") == [{"spec": {"storageCapacity": True}}]


CHECKS = [kustomize_and_chart_agree, each_driver_has_every_kind, capacity_and_topology_are_on,
          kubelet_mounts_with_the_labels_of_selinux, images_are_pinned_and_the_same_everywhere,
          mounts_have_volumes_and_volumes_are_used, only_the_node_plugin_is_privileged,
          the_data_path_has_no_memory_limit_and_outlives_its_pod, rights_are_named_and_bound,
          every_right_has_its_reason, selectors_find_pods, classes_name_a_driver_and_parse,
          the_driver_knows_its_arguments, patches_for_deployers_change_the_image_alone,
          drivers_of_the_operator_use_known_fields, rook_gets_what_the_driver_adds]


def main():
    objects = rendered()
    failed = 0
    for check in CHECKS:
        try:
            check(objects)
            print(f"ok      {check.__name__}")
        except (AssertionError, KeyError, ValueError) as fault:
            failed += 1
            print(f"FAILED  {check.__name__}: {fault!r}")
    print(f"{len(CHECKS) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
