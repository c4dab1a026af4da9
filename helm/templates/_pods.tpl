{{/* What is the same in every pod: identity, security, where it runs. Arguments: root, component, values. */}}
{{- define "quiver.podDefaults" -}}
serviceAccountName: {{ include "quiver.serviceAccountName" .root }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- with .root.Values.podSecurity.runAsUser }}
  runAsUser: {{ int64 . }}
  {{- end }}
  {{- with .root.Values.podSecurity.runAsGroup }}
  runAsGroup: {{ int64 . }}
  {{- end }}
  {{- with .root.Values.podSecurity.fsGroup }}
  fsGroup: {{ int64 . }}
  fsGroupChangePolicy: OnRootMismatch
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{/* Where pods of a component run: never two more on one machine than on another. Arguments: root, component, values. */}}
{{- define "quiver.scheduling" -}}
topologySpreadConstraints:
  - topologyKey: kubernetes.io/hostname
    maxSkew: 1
    whenUnsatisfiable: DoNotSchedule
    nodeTaintsPolicy: Honor
    labelSelector:
      matchLabels:
        {{- include "quiver.selectorLabels" . | nindent 8 }}
    {{- if eq .component "coordinator" }}
    # Of one generation: pods that an update is about to end don't count.
    matchLabelKeys: [pod-template-hash]
    {{- end }}
  - topologyKey: topology.kubernetes.io/zone
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    nodeTaintsPolicy: Honor
    labelSelector:
      matchLabels:
        {{- include "quiver.selectorLabels" . | nindent 8 }}
    {{- if eq .component "coordinator" }}
    matchLabelKeys: [pod-template-hash]
    {{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "quiver.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Labels and annotations of a pod. No version, no replica count: they would restart pods for nothing. Arguments: root, component, values, port. */}}
{{- define "quiver.podMetadata" -}}
labels:
  {{- include "quiver.selectorLabels" . | nindent 2 }}
  {{- with omit .values.podLabels "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := dict -}}
{{- if ne .component "etcd" -}}
{{- $_ := set $annotations "checksum/config" (include "quiver.configData" .root | trim | sha256sum) -}}
{{- end -}}
{{- if .root.Values.metrics.annotations -}}
{{- $_ := set $annotations "prometheus.io/scrape" "true" -}}
{{- $_ := set $annotations "prometheus.io/port" (toString .port) -}}
{{- $_ := set $annotations "prometheus.io/path" "/metrics" -}}
{{- end -}}
{{- with merge $annotations .values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
Probes on the operations port. It is opened before recovery: alive then, ready later; so a slow load is not a death.
*/}}
{{- define "quiver.probes" -}}
startupProbe:
  httpGet: {path: /livez, port: metrics}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 3
  timeoutSeconds: 3
  failureThreshold: 2
{{- end -}}
