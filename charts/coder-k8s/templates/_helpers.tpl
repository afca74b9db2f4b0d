{{- define "coder-k8s.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /*
The release's name alone if it contains the chart's name: release coder-k8s has the Deployment coder-k8s.
Truncated to leave room for the longest suffix, -leader-election, in 63 characters.
*/}}
{{- define "coder-k8s.fullname" -}}
{{- $name := include "coder-k8s.name" . }}
{{- $made := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- default $made .Values.fullnameOverride | replace "." "-" | trunc 47 | trimSuffix "-" }}
{{- end }}

{{- define "coder-k8s.serviceAccountName" -}}
{{- default (include "coder-k8s.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{- /* Labels that never change, because selectors are immutable. */}}
{{- define "coder-k8s.selectorLabels" -}}
app.kubernetes.io/name: {{ include "coder-k8s.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The chart's labels take precedence over values, because selectors, monitors and helm need them. */}}
{{- define "coder-k8s.labels" -}}
{{- $own := include "coder-k8s.selectorLabels" . | fromYaml }}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion }}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service }}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-") }}
{{- toYaml (merge $own .Values.commonLabels) }}
{{- end }}

{{- /* Annotations of an object, from a list of the root context and its own annotations, which take precedence. */}}
{{- define "coder-k8s.annotations" -}}
{{- with merge (dict) (index . 1) (index . 0).Values.commonAnnotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "coder-k8s.image" -}}
{{- $version := printf ":%s" (default .Chart.AppVersion .Values.image.tag) }}
{{- .Values.image.repository }}{{ .Values.image.digest | empty | ternary $version (printf "@%s" .Values.image.digest) }}
{{- end }}

{{- define "coder-k8s.metricsAuth" -}}
{{- if or .Values.lockdown .Values.metrics.auth }}true{{ end }}
{{- end }}

{{- /* Rejects combinations that the schema can't. */}}
{{- define "coder-k8s.checkValues" -}}
{{- if .Chart.IsRoot }}
{{- range $name, $_ := .Values.global }}
{{- fail (printf "global.%s: this chart has no such value; only a parent chart may pass global values" $name) }}
{{- end }}
{{- if hasKey .Values "enabled" }}
{{- fail "enabled: this chart has no such value; only a parent chart may use it as a condition" }}
{{- end }}
{{- end }}
{{- if and (has "--no-leader-elect" .Values.extraArgs) (gt (int .Values.replicas) 1) }}
{{- fail "replicas: with --no-leader-elect in extraArgs, only one replica is safe" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) }}
{{- fail "metrics.serviceMonitor.enabled: it requires metrics.enabled" }}
{{- end }}
{{- if and .Values.alerts.enabled (not .Values.metrics.serviceMonitor.enabled) }}
{{- fail "alerts.enabled: it requires metrics.serviceMonitor.enabled, which collects the metrics" }}
{{- end }}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) }}
{{- fail "serviceAccount.name: it is required if serviceAccount.create is false" }}
{{- end }}
{{- end }}
