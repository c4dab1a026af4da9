{{/* Name of the release's objects. At most 40 characters: suffixes, ordinals and hashes must fit behind it. */}}
{{- define "quiver.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select the pods of a component; they never change. Arguments: root, component. */}}
{{- define "quiver.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{/* Labels of an object; of no pod and no volume claim, because versions are among them. Arguments: root, component. */}}
{{- define "quiver.labels" -}}
{{ include "quiver.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "quiver.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "quiver.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "quiver.secretName" -}}
{{- default (printf "%s-auth" (include "quiver.fullname" .)) .Values.auth.existingSecret -}}
{{- end -}}

{{/* DNS domain of the pods behind a headless Service. Arguments: root, component. */}}
{{- define "quiver.podDomain" -}}
{{- printf "%s-%s.%s.svc.%s" (include "quiver.fullname" .root) .component .root.Release.Namespace .root.Values.clusterDomain -}}
{{- end -}}

{{/* The name that every member's certificate is valid for: pods of coordinators have addresses, but no names. */}}
{{- define "quiver.memberName" -}}
{{- printf "%s-members.%s.svc" (include "quiver.fullname" .) .Release.Namespace -}}
{{- end -}}

{{/* Whether the chart makes the certificates itself: "true" or nothing. */}}
{{- define "quiver.makesCertificates" -}}
{{- $given := .Values.tls.secrets -}}
{{- if and .Values.tls.enabled (not .Values.tls.certManager.enabled) (not (or $given.coordinator $given.node $given.etcd)) -}}
true
{{- end -}}
{{- end -}}

{{/* Secret with a component's certificate. Arguments: root, component. */}}
{{- define "quiver.tlsSecret" -}}
{{- if or .root.Values.tls.certManager.enabled (include "quiver.makesCertificates" .root) -}}
{{- printf "%s-%s-tls" (include "quiver.fullname" .root) .component -}}
{{- else -}}
{{- index .root.Values.tls.secrets .component -}}
{{- end -}}
{{- end -}}

{{/* Names that the certificate of a component is for, one a line. Arguments: root, component. */}}
{{- define "quiver.certificateNames" -}}
{{- $root := .root -}}
{{- if eq .component "etcd" -}}
{{- $domain := include "quiver.podDomain" . -}}
{{- range $ordinal := until (int $root.Values.etcd.replicas) }}
{{ printf "%s-etcd-%d.%s" (include "quiver.fullname" $root) $ordinal $domain }}
{{- end -}}
{{- else -}}
{{ include "quiver.memberName" $root }}
{{- if eq .component "node" }}
{{ printf "*.%s" (include "quiver.podDomain" .) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Secret with the passwords of the release's own etcd. */}}
{{- define "quiver.etcdUsersSecret" -}}
{{- default (printf "%s-etcd-users" (include "quiver.fullname" .)) .Values.etcd.auth.existingSecret -}}
{{- end -}}

{{/* Arguments: image, tag. */}}
{{- define "quiver.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository .tag -}}
{{- end -}}
{{- end -}}

{{- /* The name among `names` that has the most pairs of letters of `given`, if that is most of them; else nothing. */}}
{{- define "quiver.nearestSetting" }}
{{- $given := upper .given }}
{{- $nearest := "" }}
{{- $most := 69 }}
{{- range $name := .names }}
{{- $shared := 0 }}
{{- range $i := until (int (max 0 (sub (len $given) 1))) }}
{{- if contains (substr (int $i) (int (add $i 2)) $given) $name }}
{{- $shared = add $shared 1 }}
{{- end }}
{{- end }}
{{- $percent := int (div (mul 200 $shared) (max 1 (sub (add (len $given) (len $name)) 2))) }}
{{- if gt $percent $most }}
{{- $nearest = $name }}
{{- $most = $percent }}
{{- end }}
{{- end }}
{{- $nearest }}
{{- end }}
