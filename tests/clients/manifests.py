"""Kubernetes manifests as JSON, and what the schemas of Kubernetes have against them.

usage: manifests.py [--for VERSION]... FILE...

Prints one line for each document of a file: the file, the document, and the problems that it has in
each of these versions. Unknown fields are problems, and so are keys that a mapping has twice.
"""

import argparse
import json

import kubernetes_validate
import yaml


class Loader(yaml.SafeLoader):
    """Refuses what others silently take the last of."""


def mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.MarkedYAMLError(None, None, f"{key} is there twice", node.start_mark)
    return loader.construct_mapping(node, deep=True)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


def problem(document, version):
    """What is wrong with it in this version, if anything."""
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{version}: {'.'.join(map(str, error.path))}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError as error:
        return f"{version}: {error.message}"
    return None


parser = argparse.ArgumentParser()
parser.add_argument("--for", dest="versions", action="append", default=[])
parser.add_argument("files", nargs="+")
arguments = parser.parse_args()
for file in arguments.files:
    with open(file) as text:
        for document in yaml.load_all(text, Loader):
            found = [problem(document, version) for version in arguments.versions]
            problems = [problem for problem in found if problem]
            print(json.dumps({"file": file, "document": document, "problems": problems}))
