{{/* What coordinators and nodes have in common. */}}

{{/* Lines of the ConfigMap that both read. Whole numbers come from YAML as floats and must not look like 6.7e+07. */}}
{{- define "quiver.configData" -}}
{{- range $name, $value := .Values.config -}}
{{- if and (kindIs "float64" $value) (eq (floor $value) $value) -}}
{{ $name }}: {{ int64 $value | toString | quote }}
{{ else -}}
{{ $name }}: {{ toString $value | quote }}
{{ end -}}
{{- end -}}
{{- end -}}

{{/* Members of etcd, separated by commas. */}}
{{- define "quiver.etcdEndpoints" -}}
{{- if .Values.etcd.enabled -}}
{{- $root := . -}}
{{- $endpoints := list -}}
{{- range $ordinal := until (int .Values.etcd.replicas) -}}
{{- $endpoints = append $endpoints (printf "%s://%s-etcd-%d.%s:2379" (ternary "https" "http" $root.Values.tls.enabled) (include "quiver.fullname" $root) $ordinal (include "quiver.podDomain" (dict "root" $root "component" "etcd"))) -}}
{{- end -}}
{{- join "," $endpoints -}}
{{- else -}}
{{- join "," .Values.externalEtcd.endpoints -}}
{{- end -}}
{{- end -}}

{{/* Processors of a request such as 500m or 2, rounded up: threads come from it because the image sees the whole machine. */}}
{{- define "quiver.cores" -}}
{{- $cpu := toString (dig "requests" "cpu" "1" .) -}}
{{- if hasSuffix "m" $cpu -}}
{{- max 1 (ceil (divf (float64 (trimSuffix "m" $cpu)) 1000.0) | int) -}}
{{- else -}}
{{- max 1 (ceil (float64 $cpu) | int) -}}
{{- end -}}
{{- end -}}

{{/* Environment of a member: the chart's, then extraEnv, which may add to it only. Arguments: root, component, values, hardStopSeconds. */}}
{{- define "quiver.memberEnv" -}}
{{- $own := include "quiver.ownEnv" . -}}
{{- $names := list -}}
{{- range fromYamlArray $own }}{{ $names = append $names .name }}{{ end -}}
{{- range .values.extraEnv -}}
{{- if has .name $names -}}
{{- fail (printf "%s.extraEnv: %s is set by the chart" $.component .name) -}}
{{- end -}}
{{- end -}}
{{- $own }}
{{- with .values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "quiver.ownEnv" -}}
{{- $tls := .root.Values.tls.enabled -}}
{{- $cores := int (include "quiver.cores" .values.resources) -}}
- {name: PORT, value: "8000"}
- {name: OPS_PORT, value: "9090"}
- {name: RPC_PORT, value: "7100"}
- name: NODE_ID
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- if eq .component "node" }}
- {name: ADVERTISE_ADDRESS, value: {{ printf "$(NODE_ID).%s" (include "quiver.podDomain" .) }}}
- {name: DATA_DIR, value: /var/lib/quiver}
# Since Kubernetes 1.35 a pod has its machine's zone among its labels; before, this is empty.
- name: ZONE
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['topology.kubernetes.io/zone']"}}
- {name: READ_THREADS, value: {{ default $cores .values.readThreads | toString | quote }}}
- {name: INDEX_THREADS, value: {{ default $cores .values.indexThreads | toString | quote }}}
- {name: UV_THREADPOOL_SIZE, value: {{ add $cores 4 | toString | quote }}}
{{- else }}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- {name: ADVERTISE_ADDRESS, value: $(POD_IP)}
- {name: DATA_DIR, value: /tmp}
- {name: HTTP_THREADS, value: {{ default $cores .values.httpThreads | toString | quote }}}
- {name: EMBEDDING_THREADS, value: {{ default $cores .values.embeddingThreads | toString | quote }}}
- name: API_KEY
  valueFrom: {secretKeyRef: {name: {{ include "quiver.secretName" .root }}, key: api-key}}
{{- if .root.Values.apiTls.secret }}
- {name: API_TLS_CERT_FILE, value: /etc/quiver/api-tls/tls.crt}
- {name: API_TLS_KEY_FILE, value: /etc/quiver/api-tls/tls.key}
{{- end }}
{{- end }}
- name: CLUSTER_SECRET
  valueFrom: {secretKeyRef: {name: {{ include "quiver.secretName" .root }}, key: cluster-secret}}
- name: CLUSTER_SECRET_OTHER
  valueFrom: {secretKeyRef: {name: {{ include "quiver.secretName" .root }}, key: cluster-secret-other, optional: true}}
{{- with .root.Values.backup.s3Secret }}
- name: BACKUP_S3_ACCESS_KEY_ID
  valueFrom: {secretKeyRef: {name: {{ . }}, key: access-key-id}}
- name: BACKUP_S3_SECRET_ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ . }}, key: secret-access-key}}
- name: BACKUP_S3_SESSION_TOKEN
  valueFrom: {secretKeyRef: {name: {{ . }}, key: session-token, optional: true}}
{{- end }}
- {name: SHUTDOWN_TIMEOUT_MS, value: {{ mul .hardStopSeconds 1000 | toString | quote }}}
- {name: OMP_NUM_THREADS, value: {{ $cores | toString | quote }}}
{{ include "quiver.etcdEnv" .root }}
{{- if $tls }}
- {name: TLS_CA_FILE, value: /etc/quiver/tls/ca.crt}
- {name: TLS_CERT_FILE, value: /etc/quiver/tls/tls.crt}
- {name: TLS_KEY_FILE, value: /etc/quiver/tls/tls.key}
- {name: TLS_SERVER_NAME, value: {{ include "quiver.memberName" .root }}}
{{- end }}
{{- end -}}

{{/* How a pod reaches etcd. */}}
{{- define "quiver.etcdEnv" -}}
{{- $external := .Values.externalEtcd -}}
- {name: ETCD_ENDPOINTS, value: {{ include "quiver.etcdEndpoints" . | quote }}}
{{- if .Values.etcd.enabled }}
{{- if .Values.tls.enabled }}
- {name: ETCD_CA_FILE, value: /etc/quiver/tls/ca.crt}
- {name: ETCD_CERT_FILE, value: /etc/quiver/tls/tls.crt}
- {name: ETCD_KEY_FILE, value: /etc/quiver/tls/tls.key}
{{- end }}
{{- if .Values.etcd.auth.enabled }}
- {name: ETCD_USERNAME, value: quiver}
- name: ETCD_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ include "quiver.etcdUsersSecret" . }}, key: etcd-password}}
{{- end }}
{{- else }}
{{- if $external.tlsSecret }}
- {name: ETCD_CA_FILE, value: /etc/quiver/etcd-tls/ca.crt}
{{- if $external.clientCertificate }}
- {name: ETCD_CERT_FILE, value: /etc/quiver/etcd-tls/tls.crt}
- {name: ETCD_KEY_FILE, value: /etc/quiver/etcd-tls/tls.key}
{{- end }}
{{- end }}
{{- with $external.username }}
- {name: ETCD_USERNAME, value: {{ . | quote }}}
- name: ETCD_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $external.passwordSecret }}, key: etcd-password}}
{{- end }}
{{- end }}
{{- end -}}

{{- define "quiver.memberMounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .root.Values.tls.enabled }}
- {name: tls, mountPath: /etc/quiver/tls, readOnly: true}
{{- end }}
{{- if and (not .root.Values.etcd.enabled) .root.Values.externalEtcd.tlsSecret }}
- {name: etcd-tls, mountPath: /etc/quiver/etcd-tls, readOnly: true}
{{- end }}
{{- if and (eq .component "coordinator") .root.Values.apiTls.secret }}
- {name: api-tls, mountPath: /etc/quiver/api-tls, readOnly: true}
{{- end }}
{{- end -}}

{{/* Folders, not single files of them: only those follow a renewed certificate. Arguments: root, component. */}}
{{- define "quiver.memberVolumes" -}}
- {name: tmp, emptyDir: {}}
{{- if .root.Values.tls.enabled }}
- {name: tls, secret: {secretName: {{ include "quiver.tlsSecret" . }}, defaultMode: 0440}}
{{- end }}
{{- if and (not .root.Values.etcd.enabled) .root.Values.externalEtcd.tlsSecret }}
- {name: etcd-tls, secret: {secretName: {{ .root.Values.externalEtcd.tlsSecret }}, defaultMode: 0440}}
{{- end }}
{{- if and (eq .component "coordinator") .root.Values.apiTls.secret }}
- {name: api-tls, secret: {secretName: {{ .root.Values.apiTls.secret }}, defaultMode: 0440}}
{{- end }}
{{- end -}}

{{/* Ports of a member: the program's defaults, the same for both. */}}
{{- define "quiver.memberPorts" -}}
{{- if eq .component "coordinator" -}}
- {name: http, containerPort: 8000}
{{ end -}}
- {name: grpc, containerPort: 7100}
- {name: metrics, containerPort: 9090}
{{- end -}}
