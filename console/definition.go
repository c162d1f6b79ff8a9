package console

import (
	"bytes"
	"encoding/json"
	"html/template"
	"regexp"
	"strings"

	"almanac/client"
)

// definitionJSON returns what users write of a job, as JSON that is easy to read.
func definitionJSON(j *client.JobProperties) string {
	written := *j
	written.Status = nil
	return indented(map[string]any{"properties": written})
}

// indented returns a value as JSON in lines.
func indented(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if encoder.Encode(value) != nil {
		return ""
	}
	return strings.TrimSuffix(short.ReplaceAllStringFunc(out.String(), oneLine), "\n")
}

// short matches a list of numbers, or of words, in lines. No text has a line end in JSON.
var short = regexp.MustCompile(`\[\n\s+(?:"[A-Za-z]*"|-?\d+)(?:,\n\s+(?:"[A-Za-z]*"|-?\d+))*\n\s+\]`)

// oneLine returns such a list in one line.
func oneLine(list string) string {
	parts := strings.Split(strings.Trim(list, "[]"), ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// token matches what is coloured in a line of JSON: a name, a text, a number or a word.
var token = regexp.MustCompile(`^(\s*)("(?:[^"\\]|\\.)*")(:\s)|"(?:[^"\\]|\\.)*"|-?\b\d[\d.eE+-]*\b|\b(?:true|false|null)\b`)

// coloured returns JSON as the lines of a block of code.
func coloured(text string) template.HTML {
	var out svg
	for line := range strings.SplitSeq(text, "\n") {
		out.add("<span>%s</span>", colouredLine(line))
	}
	return out.html()
}

func colouredLine(line string) string {
	var out strings.Builder
	end := 0
	for _, at := range token.FindAllStringSubmatchIndex(line, -1) {
		out.WriteString(escape(line[end:at[0]]))
		part := line[at[0]:at[1]]
		switch {
		case at[4] >= 0:
			out.WriteString(escape(line[at[2]:at[3]]) + `<i class="k">` + escape(line[at[4]:at[5]]) + `</i>` + escape(line[at[6]:at[7]]))
		case part[0] == '"':
			out.WriteString(`<i class="s">` + escape(part) + `</i>`)
		default:
			out.WriteString(`<i class="n">` + escape(part) + `</i>`)
		}
		end = at[1]
	}
	out.WriteString(escape(line[end:]))
	return out.String()
}

// definition returns a job as a block of code.
func definition(j *client.JobProperties) template.HTML { return coloured(definitionJSON(j)) }

// secretsOf returns the members of a job that are stored and never shown.
func secretsOf(j *client.JobProperties) (all []string) {
	of := func(a *client.Action, path string) {
		if a == nil {
			return
		}
		switch {
		case a.Request != nil && a.Request.Authentication != nil:
			member := map[string]string{"basic": "password", "clientcertificate": "pfx", "activedirectoryoauth": "secret"}[strings.ToLower(a.Request.Authentication.Type)]
			if member != "" {
				all = append(all, path+"request.authentication."+member)
			}
		case a.QueueMessage != nil:
			all = append(all, path+"queueMessage.sasToken")
		case a.ServiceBusQueueMessage != nil && a.ServiceBusQueueMessage.Authentication != nil:
			all = append(all, path+"serviceBusQueueMessage.authentication.sasKey")
		case a.ServiceBusTopicMessage != nil && a.ServiceBusTopicMessage.Authentication != nil:
			all = append(all, path+"serviceBusTopicMessage.authentication.sasKey")
		}
	}
	of(&j.Action, "action.")
	of(j.Action.ErrorAction, "action.errorAction.")
	return all
}
