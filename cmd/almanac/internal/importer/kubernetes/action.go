package kubernetes

import (
	"fmt"
	"regexp"
	"strings"

	"almanac/cmd/almanac/internal/importer"
	"almanac/cmd/almanac/internal/importer/value"
	"almanac/cmd/almanac/internal/importer/webcall"
)

// action returns the action of the only container, if that is a web request.
func (m *manifest) action(d *importer.Draft, spec *value.Value) *value.Value {
	job := spec.Get("jobTemplate", "spec")
	pod := job.Get("template", "spec")
	needed := func(why string) *value.Value {
		return value.Needed(pod.LineOr(d.Line), "the action: Almanac sends requests and messages and runs no containers, and this is no plain request: "+why)
	}
	containers := pod.Get("containers")
	switch {
	case containers == nil || len(containers.Items) == 0:
		return needed("it has no container")
	case len(containers.Items) > 1 || pod.Get("initContainers") != nil:
		return needed("it has several containers")
	}
	if n, ok := job.Get("parallelism").Whole(); ok && n > 1 {
		return needed(fmt.Sprintf("%d of it run at once", n))
	}
	if n, ok := job.Get("completions").Whole(); ok && n > 1 {
		return needed(fmt.Sprintf("it runs %d times", n))
	}
	container := containers.Items[0]
	args, why := command(d, container)
	if why != "" {
		return needed(why)
	}
	variables := environment(container)
	for name, text := range variables.Known {
		m.result.Variable(name, text)
	}
	call, err := webcall.Args(args, variables, container.LineOr(d.Line))
	if err != nil {
		return needed(err.Error())
	}
	for _, text := range call.Notes {
		d.Say(importer.Same, "action", container.Line, text)
	}
	for _, text := range call.Differs {
		d.Say(importer.Differs, "action", container.Line, text)
	}
	if inCluster(call.Host) {
		d.Say(importer.Same, "action.request.uri", container.Line, "its host has a name of the cluster: Almanac has to run where it can reach it")
	}
	for _, s := range []*value.Value{job.Get("activeDeadlineSeconds"), pod.Get("activeDeadlineSeconds")} {
		if s != nil {
			d.Say(importer.Differs, "action", s.Line, "activeDeadlineSeconds ends a run that takes longer; here each request has the limit of Almanac's requests, 60 s by default, and retries follow")
		}
	}
	return importer.Web(call.Request, retries(d, job, call, pod), call.HTTPS, container.LineOr(d.Line))
}

var curlImage = regexp.MustCompile(`(?i)^([^@]*/)?(curlimages/curl|curl/curl)(:[^/@]*)?(@.*)?$`)

// command returns the words that a container runs.
func command(d *importer.Draft, container *value.Value) (words []string, why string) {
	image, _ := container.Get("image").Str()
	list := container.Get("command")
	if list == nil {
		if !curlImage.MatchString(image) {
			return nil, "it runs what its image says"
		}
		words = []string{"curl"}
		d.Say(importer.Same, "action", container.Line, "the image runs curl")
	}
	args := container.Get("args")
	for _, part := range []*value.Value{list, args} {
		if part == nil {
			continue
		}
		for _, item := range part.Items {
			text, ok := item.Str()
			if !ok {
				return nil, "a part of its command is no text"
			}
			words = append(words, text)
		}
	}
	if len(words) > 1 && list == nil && !strings.HasPrefix(words[1], "-") && (words[1] == "curl" || words[1] == "sh" || strings.HasPrefix(words[1], "/")) {
		words = words[1:] // the image runs a command that it has
	}
	return words, ""
}

// environment returns the variables of a container.
func environment(container *value.Value) webcall.Environment {
	e := webcall.Environment{Known: map[string]string{}, Unknown: map[string]string{}}
	if container.Get("envFrom") != nil {
		e.Else = "a variable whose value is in a Secret or a ConfigMap (envFrom)"
	}
	list := container.Get("env")
	if list == nil {
		return e
	}
	for _, item := range list.Items {
		name, _ := item.Get("name").Str()
		text, ok := item.Get("value").Str()
		from := item.Get("valueFrom")
		switch {
		case from.Get("secretKeyRef") != nil:
			e.Unknown[name] = "the variable " + name + ", whose value is in a Secret"
		case from != nil:
			e.Unknown[name] = "the variable " + name + ", whose value is outside the source"
		case ok && strings.Contains(text, "$("):
			e.Known[name], ok = expand(text, e)
			if !ok {
				delete(e.Known, name)
				e.Unknown[name] = "the variable " + name + ", a part of whose value is outside the source"
			}
		default:
			e.Known[name] = text
		}
	}
	return e
}

var reference = regexp.MustCompile(`\$\$|\$\(([-A-Za-z0-9_.]+)\)`)

// maxVariable is the size limit of a variable, in bytes: values may contain others twice.
const maxVariable = 64 << 10

// expand puts the values of earlier variables into a value; false if one is not known.
func expand(text string, e webcall.Environment) (string, bool) {
	known := true
	text = reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		name := found[2 : len(found)-1]
		if put, ok := e.Known[name]; ok {
			return put
		}
		if _, ok := e.Unknown[name]; ok || e.Else != "" {
			known = false
		}
		return found
	})
	return text, known && len(text) <= maxVariable
}

var clusterHost = regexp.MustCompile(`(?i)^[^.]+$|\.svc$|\.svc\.|\.cluster\.local$`)

func inCluster(host string) bool { return host != "" && clusterHost.MatchString(host) }

// retries returns the retry policy of a job whose command has none.
func retries(d *importer.Draft, job *value.Value, call *webcall.Call, pod *value.Value) *value.Value {
	limit, given := 6, job.Get("backoffLimit")
	if n, ok := given.Whole(); ok {
		limit = n
	}
	line := given.LineOr(pod.LineOr(d.Line))
	if call.Retry.Get("retryType").Is("fixed") {
		if limit > 0 {
			d.Say(importer.Same, "action.retryPolicy", line, fmt.Sprintf(
				"the retries of curl are written; that Kubernetes runs the command up to %d more times (backoffLimit) is not", limit))
		}
		return call.Retry
	}
	if limit > 0 && !call.Fails {
		d.Say(importer.Same, "action.retryPolicy", line,
			"curl without -f takes each answer for a success, after which Kubernetes does not run it again: no retries are written, not even after a failed connection")
		return value.Obj(line).Set("retryType", value.Text("none", line))
	}
	p := value.Obj(line)
	if limit <= 0 {
		return p.Set("retryType", value.Text("none", line))
	}
	implied := ""
	if given == nil {
		implied = ", which Kubernetes implies"
	}
	d.Say(importer.Same, "action.retryPolicy", line, fmt.Sprintf(
		"backoffLimit %d%s is written as %d retries, 15 s apart; those of Kubernetes are 10 s, 20 s, 40 s … apart", limit, implied, min(limit, 20)))
	return p.Set("retryType", value.Text("fixed", line)).Set("retryInterval", value.Text("00:00:15", line)).
		Set("retryCount", value.Int(min(limit, 20), line))
}
