{{/* Names are fixed (docs/designs/0001-pod-contract.md): one installation a cluster, whatever the release is called. */}}

{{- define "podcache.selectorLabels" -}}
app.kubernetes.io/name: podcache-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "podcache.labels" -}}
{{ include "podcache.selectorLabels" . }}
app.kubernetes.io/part-of: podcache
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Image by the name of a value: include "podcache.image" (list . "server") */}}
{{- define "podcache.image" -}}
{{- $root := index . 0 -}}
{{- $image := $root.Values.image -}}
{{- printf "%s/%s:%s" $image.registry (index $image (index . 1)) ($image.tag | default $root.Chart.AppVersion) -}}
{{- end }}

{{/* For the restricted Pod Security Standard. */}}
{{- define "podcache.containerSecurityContext" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}
