{{- define "wayfarer.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of everything that belongs to a program: "wayfarer.full" (list $ "dice"). */}}
{{- define "wayfarer.full" -}}
{{- $root := index . 0 -}}
{{- $name := include "wayfarer.name" $root -}}
{{- if contains $name $root.Release.Name -}}
{{- printf "%s-%s" ($root.Release.Name | trunc 50 | trimSuffix "-") (index . 1) -}}
{{- else -}}
{{- printf "%s-%s-%s" ($root.Release.Name | trunc 30 | trimSuffix "-") ($name | trunc 20 | trimSuffix "-") (index . 1) -}}
{{- end -}}
{{- end -}}

{{/* Labels that select: "wayfarer.selector" (list $ "dice"). */}}
{{- define "wayfarer.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "wayfarer.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "wayfarer.labels" -}}
{{- $root := index . 0 -}}
{{ include "wayfarer.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: wayfarer
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* A program's block over the defaults, as YAML: "wayfarer.program" (list $ "dice"). */}}
{{- define "wayfarer.program" -}}
{{- $root := index . 0 -}}
{{- $own := index $root.Values.programs (index . 1) | default dict -}}
{{- mergeOverwrite (deepCopy $root.Values.defaults) (deepCopy $own) | toYaml -}}
{{- end -}}

{{- define "wayfarer.image" -}}
{{- $root := index . 0 -}}
{{- $i := $root.Values.image -}}
{{- $path := printf "%s-%s:%s" $i.prefix (index . 1) (default $root.Chart.AppVersion $i.tag) -}}
{{- if $i.registry -}}{{ $i.registry }}/{{ end -}}{{ $path }}
{{- end -}}

{{- define "wayfarer.tlsSecret" -}}
{{ include "wayfarer.full" . }}-tls
{{- end -}}

{{/* Which programs each program calls, as YAML. */}}
{{- define "wayfarer.calls" -}}
dice: [party]
party: [dice, party]
dungeon: [party, dice]
travel: [party, dice]
expedition: [party, dungeon, travel]
gateway: [dice, party, dungeon, travel, expedition]
{{- end -}}

{{/* Values that have no default and cannot be left out are named all at once. */}}
{{- define "wayfarer.check" -}}
{{- $missing := list -}}
{{- range $key := list "issuer" "jwksURL" "tokenURL" -}}
{{- if not (index $.Values.auth $key) -}}{{- $missing = append $missing (printf "auth.%s" $key) -}}{{- end -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.certManager.issuerRef.name) -}}{{- $missing = append $missing "tls.certManager.issuerRef.name" -}}{{- end -}}
{{- if and .Values.grpcRoute.enabled (not .Values.grpcRoute.parentRefs) -}}{{- $missing = append $missing "grpcRoute.parentRefs" -}}{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}{{- $missing = append $missing "ingress.host" -}}{{- end -}}
{{- if $missing -}}
{{- fail (printf "these values are needed: %s" (join ", " $missing)) -}}
{{- end -}}
{{- if and .Values.tls.certManager.enabled (not .Values.tls.enabled) -}}
{{- fail "tls.certManager.enabled makes certificates that tls.enabled: false does not use" -}}
{{- end -}}
{{- end -}}
