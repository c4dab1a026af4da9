{{/*
Arguments of an etcd member. The members are those of the first installation: one that comes back with its data goes on,
one with an empty folder refuses to start instead of joining as a stranger.
*/}}
{{- define "quiver.etcdArgs" -}}
{{- $root := . -}}
{{- $scheme := ternary "https" "http" .Values.tls.enabled -}}
{{- $name := printf "%s-etcd" (include "quiver.fullname" .) -}}
{{- $domain := include "quiver.podDomain" (dict "root" . "component" "etcd") -}}
{{- $members := list -}}
{{- range $ordinal := until (int .Values.etcd.replicas) -}}
{{- $members = append $members (printf "%s-%d=%s://%s-%d.%s:2380" $name $ordinal $scheme $name $ordinal $domain) -}}
{{- end -}}
- --name=$(POD_NAME)
- --data-dir=/var/lib/etcd/data
- --listen-client-urls={{ $scheme }}://0.0.0.0:2379
- --listen-peer-urls={{ $scheme }}://0.0.0.0:2380
- --listen-metrics-urls=http://0.0.0.0:2381
- --advertise-client-urls={{ $scheme }}://$(POD_NAME).{{ $domain }}:2379
- --initial-advertise-peer-urls={{ $scheme }}://$(POD_NAME).{{ $domain }}:2380
- --initial-cluster={{ join "," $members }}
- --initial-cluster-state=new
- --initial-cluster-token={{ .Release.Namespace }}-{{ $name }}
- --auto-compaction-mode=periodic
- --auto-compaction-retention=5m
{{- if .Values.tls.enabled }}
- --client-cert-auth=true
- --trusted-ca-file=/etc/etcd/tls/ca.crt
- --cert-file=/etc/etcd/tls/tls.crt
- --key-file=/etc/etcd/tls/tls.key
- --peer-client-cert-auth=true
- --peer-trusted-ca-file=/etc/etcd/tls/ca.crt
- --peer-cert-file=/etc/etcd/tls/tls.crt
- --peer-key-file=/etc/etcd/tls/tls.key
{{- end }}
{{- end -}}
