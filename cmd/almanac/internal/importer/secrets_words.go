package importer

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	secretWord = regexp.MustCompile(`(?i)(pass(word|wd|phrase|code)|(^|[-_.])pass$|pwd|secret|token|api[-_]?key|access[-_]?key|account[-_]?key|shared[-_]?key|` +
		`private[-_]?key|subscription[-_]?key|functions[-_]?key|(secure|cron|licen[cs]e|master|admin|secret|encryption|signing|hmac)[-_]?key|auth(orization|entication|key)?$|credential|cookie|signature|session[-_]?id|webhook[-_]?url|connection[-_]?string)`)
	queryWord = regexp.MustCompile(`(?i)^(code|sig|(.*[-_.])?key|auth|pw|pass|apikey|jwt|sas)$`)
	weakWord  = regexp.MustCompile(`(?i)^(hash|sid|k|t|p|id|h)$`) // of a secret if the value is long
	// secretForm matches what programs make as tokens and keys.
	secretForm = regexp.MustCompile(`(?i)(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+|\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}|` +
		`(AccountKey|SharedAccessKey|SharedAccessSignature|Password|Pwd)\s*=|[?&;](sig|code|token|key)=|-----BEGIN |` +
		`\b(ghp|gho|ghs|github_pat|glpat|xox[abprs]|sk|pk|rk|AKIA|ASIA|AIza|SG|shpat|hvs|npm|pypi)[-_.]?[A-Za-z0-9_-]{12,}|` +
		`[a-z][a-z0-9+.-]*://[^/\s:@]+:[^/\s@]+@)`)
	assignment = regexp.MustCompile(`(?i)["']?([A-Za-z0-9_.-]*)["']?\s*[:=]\s*["']?[^\s"'&,;{}\[\]]`)
	element    = regexp.MustCompile(`<([A-Za-z0-9_.:-]+)[^<>]*>\s*(<!\[CDATA\[)?\s*[^<>\s]`)
	opaque     = regexp.MustCompile(`^[A-Za-z0-9_~.+/=%-]{20,}$`)
	opaqueWord = regexp.MustCompile(`^[A-Za-z0-9_=-]+$`)
	identifier = regexp.MustCompile(`(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// hookWord is a part of a path after which a key of whoever may call it comes.
var hookWord = regexp.MustCompile(`(?i)^((web)?hooks?|push|ping|callback|trigger|incoming|heartbeat|beat|cron|invoke|deploy)$`)

// made reports whether a part of a path after a [hookWord] is made by a program, and is no word of people.
func made(segment string) bool {
	if identifier.MatchString(segment) {
		return true
	}
	digit := strings.ContainsFunc(segment, unicode.IsDigit)
	lower, upper := strings.ContainsFunc(segment, unicode.IsLower), strings.ContainsFunc(segment, unicode.IsUpper)
	return len(segment) >= 8 && opaqueWord.MatchString(segment) && digit && (lower && upper || len(segment) >= 16)
}

// webhookHosts have the secret in the path.
var webhookHosts = regexp.MustCompile(`(?i)(^|\.)(hooks\.slack\.com|webhook\.office\.com|discord(app)?\.com|hooks\.zapier\.com|` +
	`outlook\.office(365)?\.com|api\.telegram\.org|hc-ping\.com|healthchecks\.io|maker\.ifttt\.com|webhook\.site|chat\.googleapis\.com|` +
	`cronitor\.link|betteruptime\.com|uptime\.betterstack\.com|hook\.[a-z0-9]+\.make\.com|nosnch\.in|deadmanssnitch\.com|pushmon\.com|ntfy\.sh)$`)

// secretName reports whether a name says that its value is a secret.
func secretName(name string) bool {
	switch strings.ToLower(name) {
	case "x-ms-tokentype", "tokentype", "token_type", "grant_type", "www-authenticate", "secretname", "passwordless":
		return false
	}
	return secretWord.MatchString(name) || strings.HasSuffix(strings.ToLower(name), "-key") || strings.EqualFold(name, "key")
}

// place ends the name of a variable whose value is the place of a secret, and no secret itself.
var place = regexp.MustCompile(`(?i)(url|uri|endpoint|host|path|file|dir|name|id|type)$`)

// hookName ends the name of a variable whose value is an address that is a secret.
var hookName = regexp.MustCompile(`(?i)(webhook|[-_]dsn)$`)

// secretText reports whether a text holds what looks like a secret.
func secretText(text string) bool {
	if secretForm.MatchString(text) || secretJSON(text) {
		return true
	}
	for _, found := range assignment.FindAllStringSubmatch(text, 1000) {
		if found[1] != "" && secretName(found[1]) {
			return true
		}
	}
	for _, found := range element.FindAllStringSubmatch(text, 1000) {
		if secretName(found[1]) {
			return true
		}
	}
	return randomToken(strings.TrimSpace(text))
}

// secretJSON reports whether a text is JSON that has a member with the name of a secret.
func secretJSON(text string) bool {
	var tree any
	if t := strings.TrimSpace(text); !strings.HasPrefix(t, "{") && !strings.HasPrefix(t, "[") || json.Unmarshal([]byte(t), &tree) != nil {
		return false
	}
	var has func(v any) bool
	has = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				if text, ok := inner.(string); ok && text != "" && secretName(name) || has(inner) {
					return true
				}
			}
		case []any:
			return slices.ContainsFunc(v, has)
		case string:
			return secretForm.MatchString(v) || randomToken(v)
		}
		return false
	}
	return has(tree)
}

// secretAddress reports whether the path or the query of an address holds a secret.
func secretAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return secretText(address)
	}
	segments := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	if webhookHosts.MatchString(u.Hostname()) && segments[0] != "" {
		return true
	}
	for i, segment := range segments {
		if randomToken(segment) || strings.HasPrefix(segment, "bot") && strings.Contains(segment, ":") ||
			i > 0 && secretName(segments[i-1]) && len(segment) >= 8 || i > 0 && hookWord.MatchString(segments[i-1]) && made(segment) {
			return true
		}
	}
	for _, part := range strings.FieldsFunc(u.RawQuery+"&"+u.Fragment, func(r rune) bool { return r == '&' || r == ';' }) {
		name, text, _ := strings.Cut(part, "=")
		switch {
		case text == "":
			if randomToken(name) {
				return true
			}
		case secretName(name), queryWord.MatchString(name), weakWord.MatchString(name) && len(text) >= 12 && !identifier.MatchString(text),
			randomToken(text), secretForm.MatchString(text):
			return true
		}
	}
	return false
}

// randomToken reports whether a word looks as if a program had made it up: 20 characters or more, of letters and digits
// that change often.
func randomToken(word string) bool {
	if unescaped, err := url.PathUnescape(word); err == nil {
		word = unescaped
	}
	if !opaque.MatchString(word) || identifier.MatchString(word) || strings.Count(word, "/") > 2 {
		return false
	}
	digits, changes, last := 0, 0, 0
	for _, r := range word {
		class := 1
		switch {
		case unicode.IsDigit(r):
			class, digits = 2, digits+1
		case unicode.IsUpper(r):
			class = 3
		case !unicode.IsLetter(r):
			class = last
		}
		if class != last && last != 0 {
			changes++
		}
		last = class
	}
	return digits >= 2 && changes >= 5
}
