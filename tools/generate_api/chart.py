"""Makes the chart's copy of a CRD: the same text behind a switch, with the annotation that keeps it at uninstall."""

import re

import model

TOP = """{{- /* Made from manifests/crd by tools/generate_api. Do not edit. */}}
{{- if .Values.crds.enabled }}
"""
METADATA = """metadata:
  name: %s
  labels:
    {{- include "podcache.labels" . | nindent 4 }}
  {{- if .Values.crds.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
"""


def crd_template(name, source):
    if "{{" in source:
        raise model.SchemaError(f"{name}: braces of the template language in a CRD")
    body = "".join(line for line in source.splitlines(True) if not line.startswith("#"))
    body, count = re.subn(r"(?m)^metadata:\n  name: (\S+)\n", lambda found: METADATA % found[1], body)
    if count != 1:
        raise model.SchemaError(f"{name}: metadata is not as expected")
    return TOP + body + "{{- end }}\n"
