package importer

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"almanac/cmd/almanac/internal/importer/value"
)

// A Secret is one that a source has or lacks. It is written nowhere: the file of the job names a variable of the
// environment.
type Secret struct {
	Env  string `json:"env"`
	Job  string `json:"job"`
	Path string `json:"path"`
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Lost says that the source does not have it.
	Lost bool `json:"lost,omitempty"`
}

// A vault names the variables of secrets. Equal secrets have one variable.
type vault struct {
	names  map[string]string // by the secret
	taken  map[string]bool
	last   map[string]int // the highest number of names with the same beginning
	known  []string       // secrets of the source, and forms of them, wherever they are used
	listed []Secret
}

// minSecret is the length from which on a secret of the source is looked for in other texts.
const minSecret = 4

func newVault(known []string) *vault {
	s := &vault{names: map[string]string{}, taken: map[string]bool{}, last: map[string]int{}}
	for _, secret := range known {
		if len(secret) < minSecret {
			continue
		}
		inJSON, _ := json.Marshal(secret) // a string always has a JSON form
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"),
			strings.Trim(string(inJSON), `"`), base64.StdEncoding.EncodeToString([]byte(secret)),
		} {
			if !slices.Contains(s.known, form) {
				s.known = append(s.known, form)
			}
		}
	}
	return s
}

// has reports whether a text has a secret of the source in it.
func (s *vault) has(text string) bool {
	return slices.ContainsFunc(s.known, func(secret string) bool { return strings.Contains(text, secret) })
}

// used hides the texts of an action in which a secret of the source is used.
func (s *vault) used(d *Draft, path string, of *value.Value) {
	for i, m := range of.Members {
		at := value.Join(path, m.Name)
		switch strings.ToLower(m.Name) {
		case "type", "method", "retrytype", "transporttype":
			continue
		}
		if m.Value.Kind == value.String && s.has(m.Value.Text) {
			of.Members[i].Value = s.shown(d, at, m.Value, "it holds a secret of the source")
			continue
		}
		s.used(d, at, m.Value)
	}
}

// rename replaces a name that has a secret of the source in it.
func (s *vault) rename(d *Draft, names Names) {
	if !s.has(d.Name) && !s.has(d.Collection) {
		return
	}
	d.Name = names.Of("unnamed")
	if s.has(d.Collection) {
		d.Collection = "default"
	}
	d.Say(Needs, "name", d.Line, "the name of the job or of its collection: it holds a secret of the source")
	if d.Properties != nil {
		d.Properties.Set("$needs", value.Needed(d.Line, "the name of the job or of its collection: it holds a secret of the source"))
	}
}

// writeOnly are the members that no answer of the API shows.
var writeOnly = map[string]bool{"password": true, "pfx": true, "secret": true, "sastoken": true, "saskey": true}

// hide replaces the secrets of a draft by references.
func (s *vault) hide(d *Draft) {
	s.action(d, "action", d.Properties.Get("action"))
	if errorAction := d.Properties.Get("action", "errorAction"); errorAction != nil {
		s.action(d, "action.errorAction", errorAction)
	}
	if action := d.Properties.Get("action"); action != nil && len(s.known) > 0 {
		s.used(d, "action", action)
	}
	s.forms(d)
	// A write-only member anywhere else is not part of an action, and is refused; its value must not be shown.
	d.Properties.Walk("", func(path string, v *value.Value) bool {
		for i, m := range v.Members {
			if writeOnly[strings.ToLower(m.Name)] && m.Value.Kind == value.String && m.Value.Text != "" &&
				!strings.Contains(path, "headers") && !strings.Contains(path, "customMessageProperties") {
				v.Members[i].Value = s.put(d, value.Join(path, m.Name), m.Value)
			}
		}
		return true
	})
}

// emptyParameter matches a parameter of an address whose value is not known.
var emptyParameter = regexp.MustCompile(`[?&][^?&=]*=\{…\}`)

// forms has what somebody has to give say which part of it the source has, unless that may be a secret.
func (s *vault) forms(d *Draft) {
	d.Properties.Walk("", func(path string, v *value.Value) bool {
		last := path[strings.LastIndexByte(path, '.')+1:]
		plain := strings.ReplaceAll(emptyParameter.ReplaceAllString(v.Form, ""), "{…}", "")
		if v.Kind == value.Unknown && v.Form != "" && !strings.Contains(path, "authentication") && !writeOnly[strings.ToLower(last)] &&
			!secretName(last) && !s.has(plain) && !secretText(plain) && !secretAddress(plain) {
			v.Why = append(slices.Clip(v.Why), "the source has "+v.Form)
		}
		return true
	})
}

func (s *vault) action(d *Draft, path string, action *value.Value) {
	if action == nil || action.Kind != value.Object {
		return
	}
	if r := action.Get("request"); r != nil && r.Kind == value.Object {
		s.request(d, path+".request", r)
	}
	for _, name := range []string{"queueMessage", "serviceBusQueueMessage", "serviceBusTopicMessage"} {
		message := action.Get(name)
		if message == nil || message.Kind != value.Object {
			continue
		}
		at := path + "." + name
		if name == "queueMessage" {
			s.member(d, at, message, "sasToken", true)
		}
		if auth := message.Get("authentication"); auth != nil && !auth.Get("type").Is("notSpecified") {
			s.member(d, at+".authentication", auth, "sasKey", auth.Get("sasKeyName") != nil || auth.Get("sasKey") != nil)
		}
		s.text(d, at, message, "message")
		s.members(d, at+".customMessageProperties", message.Get("customMessageProperties"))
	}
}

// request hides the secrets of a web request: its authentication, its headers, and those in its address and body.
func (s *vault) request(d *Draft, path string, r *value.Value) {
	authorization(d, path, r)
	userInfo(d, path, r)
	if auth := r.Get("authentication"); auth != nil && auth.Kind == value.Object {
		at := path + ".authentication"
		switch kind := auth.Get("type"); {
		case kind.Is("Basic"):
			s.basic(d, at, auth)
		case kind.Is("ClientCertificate"):
			s.member(d, at, auth, "pfx", true)
			s.member(d, at, auth, "password", true)
		case kind.Is("ActiveDirectoryOAuth"):
			s.member(d, at, auth, "secret", true)
		}
	}
	s.members(d, path+".headers", r.Get("headers"))
	if uri := r.Get("uri"); uri != nil && uri.Kind == value.String && secretAddress(uri.Text) {
		r.Set("uri", s.shown(d, path+".uri", uri, "the address holds a secret"))
	}
	s.text(d, path, r, "body")
}

// placeholders are passwords beside a user that is a key.
var placeholders = map[string]bool{"": true, "x": true, "x-oauth-basic": true, "api_token": true, "apikey": true, "api_key": true, "api": true, "token": true}

// basic hides the password, and a user that is a key.
func (s *vault) basic(d *Draft, at string, auth *value.Value) {
	user, password := auth.Get("username"), auth.Get("password")
	word, given := password.Str()
	if user != nil && user.Kind == value.String && user.Text != "" {
		switch empty := auth.Get("emptyPassword").Is("true") || given && word == ""; {
		case empty:
			auth.Set("username", s.shown(d, at+".username", user, "a user without a password is mostly a key"))
		case given && placeholders[strings.ToLower(word)]:
			auth.Set("username", s.shown(d, at+".username", user, "a user whose password is a mere placeholder is mostly a key"))
		case secretText(user.Text):
			auth.Set("username", s.shown(d, at+".username", user, "it looks like a secret"))
		}
	}
	if given && word == "" {
		auth.Remove("password")
		auth.Set("emptyPassword", value.Boolean(true, password.Line))
		return
	}
	s.member(d, at, auth, "password", !auth.Get("emptyPassword").Is("true"))
}

// member hides a write-only member. needed says that the job does not work without it.
func (s *vault) member(d *Draft, path string, of *value.Value, name string, needed bool) {
	v, at := of.Get(name), value.Join(path, name)
	switch {
	case v == nil && !needed, v != nil && v.Kind == value.Env:
	case v == nil, v.Kind == value.Unknown, v.Text == "" && v.Kind == value.String:
		why := "the source does not have it"
		if v != nil && len(v.Why) > 0 {
			why = strings.Join(v.Why, "; ")
		}
		line := v.LineOr(of.Line)
		env := s.name(d, at)
		of.Set(name, &value.Value{Kind: value.Env, Text: env, Line: line})
		s.listed = append(s.listed, Secret{Env: env, Job: d.Collection + "/" + d.Name, Path: at, File: d.File, Line: line, Lost: true})
		d.Say(Needs, at, line, "put the secret into "+env+": "+why)
	default:
		of.Set(name, s.put(d, at, v))
	}
}

// members hides values of headers and custom properties whose names or forms say that they are secrets.
func (s *vault) members(d *Draft, path string, of *value.Value) {
	if of == nil || of.Kind != value.Object {
		return
	}
	for i, m := range of.Members {
		if m.Value.Kind == value.String && m.Value.Text != "" && (secretName(m.Name) || secretText(m.Value.Text)) {
			of.Members[i].Value = s.shown(d, value.Join(path, m.Name), m.Value, "it looks like a secret")
		}
	}
}

// text hides a body or message that holds a secret.
func (s *vault) text(d *Draft, path string, of *value.Value, name string) {
	v := of.Get(name)
	if v != nil && v.Kind == value.String && secretText(v.Text) {
		of.Set(name, s.shown(d, value.Join(path, name), v, "it holds what looks like a secret"))
	}
}

// shown hides a secret in a member that answers of the API show.
func (s *vault) shown(d *Draft, path string, v *value.Value, why string) *value.Value {
	env := s.put(d, path, v)
	d.Say(Needs, path, v.Line, why+", so it is "+env.Text+" in the file. Answers of the API show this member, and apply takes no "+
		"reference in such a one: authenticate in another way, or put the value in by the API")
	return env
}

// put hides a value.
func (s *vault) put(d *Draft, path string, v *value.Value) *value.Value {
	env, ok := s.names[v.Text]
	if !ok {
		env = s.name(d, path)
		s.names[v.Text] = env
	}
	s.listed = append(s.listed, Secret{Env: env, Job: d.Collection + "/" + d.Name, Path: path, File: d.File, Line: v.LineOr(d.Line)})
	return &value.Value{Kind: value.Env, Text: env, Line: v.Line}
}

// name returns a new name of a variable.
func (s *vault) name(d *Draft, path string) string {
	last := path[strings.LastIndexByte(path, '.')+1:]
	if strings.Contains(path, "errorAction") {
		last = "error_" + last
	}
	base := variable(d.Name) + "_" + variable(last)
	name := base
	for s.taken[name] {
		s.last[base]++
		name = base + "_" + strconv.Itoa(s.last[base]+1)
	}
	s.taken[name] = true
	return name
}

// variable returns a text as a part of the name of a variable.
func variable(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(text[i-1])) {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToUpper(r))
		default:
			b.WriteByte('_')
		}
		if b.Len() >= 48 {
			break
		}
	}
	name := strings.Trim(b.String(), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "JOB_" + name
	}
	return name
}

// authorization turns a header Authorization of basic authentication into an authentication.
func authorization(d *Draft, path string, r *value.Value) {
	headers := r.Get("headers")
	header := headers.Get("Authorization")
	text, ok := header.Str()
	scheme, credentials, _ := strings.Cut(strings.TrimSpace(text), " ")
	if !ok || !strings.EqualFold(scheme, "Basic") || r.Get("authentication") != nil {
		return
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credentials))
	user, password, found := strings.Cut(string(plain), ":")
	if err != nil || !found {
		return
	}
	if headers.Remove("Authorization"); len(headers.Members) == 0 {
		r.Remove("headers")
	}
	r.Set("authentication", basic(user, password, header.Line))
	d.Say(Same, path+".headers.Authorization", header.Line, "basic authentication stands in authentication, which no answer shows")
}

// userInfo turns the user info of an address into an authentication.
func userInfo(d *Draft, path string, r *value.Value) {
	uri := r.Get("uri")
	text, ok := uri.Str()
	scheme, rest, found := strings.Cut(text, "://")
	if !ok || !found {
		return
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return
	}
	user, password, _ := strings.Cut(authority[:at], ":")
	r.Set("uri", value.Text(scheme+"://"+rest[at+1:], uri.Line))
	if r.Get("authentication") != nil {
		d.Say(Same, path+".uri", uri.Line, "the address has a user as well, which is left out: authentication has one")
		return
	}
	if plain, err := url.PathUnescape(user); err == nil {
		user = plain
	}
	if plain, err := url.PathUnescape(password); err == nil {
		password = plain
	}
	r.Set("authentication", basic(user, password, uri.Line))
	d.Say(Same, path+".uri", uri.Line, "the user and the password in the address stand in authentication, which no answer shows")
}

func basic(user, password string, line int) *value.Value {
	return value.Obj(line).Set("type", value.Text("Basic", line)).Set("username", value.Text(user, line)).
		Set("password", value.Text(password, line))
}

// Secret adds a value of the source that is secret wherever it is used.
func (r *Result) Secret(text string) {
	if r.known == nil {
		r.known = map[string]bool{}
	}
	for _, secret := range r.Secrets[r.noted:] { // others were added
		r.known[secret] = true
	}
	if r.noted = len(r.Secrets); text != "" && !r.known[text] {
		r.Secrets = append(r.Secrets, text)
	}
}

// Variable adds the value of a variable, if its name says that it is secret.
func (r *Result) Variable(name, text string) {
	if hookName.MatchString(name) || secretName(name) && (!place.MatchString(name) || secretAddress(text)) {
		r.Secret(text)
	}
}
