// Package webcall reads commands of curl and wget that are plain web requests.
package webcall

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"almanac/cmd/almanac/internal/importer/value"
)

// An Environment has the variables that a command may use.
type Environment struct {
	Known   map[string]string
	Unknown map[string]string // why their values are not known
	Else    string            // why those of other variables are not known; "": they are not set
	Stdin   *string           // what the command reads; nil if nothing is known of it
}

// A Call is a web request of a command.
type Call struct {
	Request *value.Value // as in an action
	Retry   *value.Value // a retry policy
	Host    string       // of the address; "" if it is not known
	HTTPS   bool
	Fails   bool // the command fails if the answer is no success
	Notes   []string
	Differs []string // what it does otherwise
}

// MaxCommand is the size limit of a command, in bytes.
const MaxCommand = 64 << 10

// Shell reads a command that a shell runs. The error says why it is no plain request, and quotes nothing but names of
// options and variables.
func Shell(command string, e Environment, line int) (*Call, error) { return shell(command, e, line, 0) }

func shell(command string, env Environment, line, depth int) (*Call, error) {
	if len(command) > MaxCommand {
		return nil, errors.New("it is too long")
	}
	e := &environment{Environment: env}
	list, notes, err := words(command, e)
	if first := strings.Fields(leading.ReplaceAllString(command, "")); err != nil && len(first) > 0 && !programs[path.Base(first[0])] {
		err = errCommand
	}
	if err != nil {
		return nil, err
	}
	call, err := run(list, e, line, depth)
	if err == nil {
		call.Notes = append(call.Notes, notes...)
	}
	return call, err
}

// leading matches lines of comments before a command.
var leading = regexp.MustCompile(`^(\s*(#[^\n]*)?\n)+`)

// Args reads a command that runs without a shell. Names in $(NAME) are put in as Kubernetes does.
func Args(args []string, env Environment, line int) (*Call, error) {
	e := &environment{Environment: env}
	list := make([]string, len(args))
	for i, arg := range args {
		if len(arg) > MaxCommand {
			return nil, errors.New("it is too long")
		}
		list[i] = kubernetes(strings.ReplaceAll(arg, hole, ""), e)
	}
	return run(list, e, line, 0)
}

var reference = regexp.MustCompile(`\$\$|\$\(([-A-Za-z0-9_.]+)\)`)

// kubernetes puts in values of $(NAME). $$ is a dollar sign, and a name without a value stays.
func kubernetes(text string, e *environment) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if put, ok := e.put(found[2 : len(found)-1]); ok {
			return put
		}
		return found
	})
}

var errCommand = errors.New("it is a command, and no plain curl or wget")

// programs are those whose commands may be web requests.
var programs = map[string]bool{
	"sh": true, "bash": true, "dash": true, "ash": true, "busybox": true, "curl": true, "wget": true,
}

// run reads the words of a command.
func run(list []string, e *environment, line, depth int) (*Call, error) {
	if len(list) == 0 {
		return nil, errors.New("there is no command")
	}
	program := path.Base(list[0])
	switch program {
	case "sh", "bash", "dash", "ash", "busybox":
		return inner(list, e, line, depth)
	case "curl":
		return request(list[1:], curlOptions, e, line, false)
	case "wget":
		return request(list[1:], wgetOptions, e, line, true)
	}
	return nil, errCommand
}

var shellFlags = regexp.MustCompile(`^-[a-z]*c$`)

// inner reads the command of sh -c.
func inner(list []string, e *environment, line, depth int) (*Call, error) {
	if path.Base(list[0]) == "busybox" {
		if len(list) < 2 {
			return nil, errCommand
		}
		return run(list[1:], e, line, depth)
	}
	if len(list) != 3 || !shellFlags.MatchString(list[1]) || depth > 2 {
		return nil, errors.New("it is a script, and no plain curl or wget")
	}
	if strings.Contains(list[2], hole) {
		return nil, errors.New("a part of it is not known before it runs")
	}
	return shell(strings.TrimSpace(list[2]), e.Environment, line, depth+1)
}

// An option of a command. do gets the argument, if there is one.
type option struct {
	arg bool
	do  func(b *builder, arg string) error
}

// A builder collects a request.
type builder struct {
	e       *environment
	wget    bool
	urls    []string
	method  string
	headers []value.Member
	given   map[string]bool // headers of --header, in lower case
	cookies []string
	data    []string
	hasData bool
	noBody  string // why the body is not known

	queryUnknown bool // it is a part of the address
	json         bool
	get          bool
	head         bool
	user         *string
	pass         *string
	follow       bool
	plain        bool // the address is of http
	retries      int
	delay        int
	fails        bool
	call         *Call
	line         int
}

// request reads the arguments of curl or wget.
func request(args []string, options map[string]option, e *environment, line int, wget bool) (*Call, error) {
	b := &builder{e: e, wget: wget, follow: wget, given: map[string]bool{}, call: &Call{}, line: line}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var err error
		switch {
		case strings.HasPrefix(arg, "--") && arg != "--":
			args, err = b.long(arg, args, options)
		case strings.HasPrefix(arg, "-") && arg != "-" && arg != "--":
			args, err = b.short(arg, args, options)
		case arg == "--":
			b.urls, args = append(b.urls, args...), nil
		default:
			b.urls = append(b.urls, arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return b.finish()
}

var optionName = regexp.MustCompile(`^--?[a-zA-Z0-9#.-]{1,24}$`)

func unknown(name string) error {
	if !optionName.MatchString(name) {
		name = "an option"
	}
	return fmt.Errorf("%s of the command has no counterpart here", name)
}

// long reads an option such as --header.
func (b *builder) long(arg string, rest []string, options map[string]option) ([]string, error) {
	name, text, given := strings.Cut(arg, "=")
	if !b.wget {
		name, given = arg, false // curl takes no equals sign
	}
	o, ok := options[name]
	switch {
	case !ok:
		return nil, unknown(name)
	case !o.arg:
		return rest, o.do(b, "")
	case given:
		return rest, o.do(b, text)
	case len(rest) == 0:
		return nil, fmt.Errorf("%s has no value", name)
	}
	return rest[1:], o.do(b, rest[0])
}

// short reads letters such as -sSf, and -XPOST.
func (b *builder) short(arg string, rest []string, options map[string]option) ([]string, error) {
	letters := arg[1:]
	switch {
	case b.wget && letters == "nc":
		return nil, errors.New("-nc has no counterpart: wget sends nothing once the file is there")
	case b.wget && (strings.HasPrefix(letters, "nv") || strings.HasPrefix(letters, "nd")):
		return rest, nil
	}
	for letters != "" {
		name := "-" + letters[:1]
		letters = letters[1:]
		o, ok := options[name]
		switch {
		case !ok:
			return nil, unknown(name)
		case !o.arg:
			if err := o.do(b, ""); err != nil {
				return nil, err
			}
			continue
		case letters != "":
			return rest, o.do(b, letters)
		case len(rest) == 0:
			return nil, fmt.Errorf("%s has no value", name)
		}
		return rest[1:], o.do(b, rest[0])
	}
	return rest, nil
}

func (b *builder) header(name, text string) {
	for i, h := range b.headers {
		if strings.EqualFold(h.Name, name) {
			b.headers[i].Value = b.text(text)
			return
		}
	}
	b.headers = append(b.headers, value.Member{Name: name, Value: b.text(text)})
}

// single are headers that a request has once.
var single = map[string]bool{"authorization": true, "content-type": true, "content-length": true, "host": true, "user-agent": true, "referer": true}

// plainHeader adds a header of --header. curl sends one that comes twice twice, and wget the last one.
func (b *builder) plainHeader(name, text string) error {
	lower := strings.ToLower(name)
	if !b.given[lower] || b.wget {
		b.given[lower] = true
		b.header(name, text)
		return nil
	}
	if single[lower] {
		return errors.New("a header comes twice that a request has once")
	}
	for i, h := range b.headers {
		if !strings.EqualFold(h.Name, name) {
			continue
		}
		separator := ", "
		if lower == "cookie" {
			separator = "; "
		}
		b.note("a header that comes twice is sent as one, its values joined")
		if h.Value.Kind == value.String {
			joined := b.text(text)
			if joined.Kind == value.String {
				joined.Text = h.Value.Text + separator + joined.Text
			}
			b.headers[i].Value = joined
		}
	}
	return nil
}

func (b *builder) hasHeader(name string) bool {
	for _, h := range b.headers {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}

func (b *builder) differs(text string) { b.call.Differs = append(b.call.Differs, text) }
func (b *builder) note(text string)    { b.call.Notes = append(b.call.Notes, text) }

var holes = regexp.MustCompile(hole + `(\d+)` + hole)

// text returns a string; an unknown value if a part of it is not known.
func (b *builder) text(text string) *value.Value {
	var why []string
	for _, found := range holes.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1])
		why = append(why, b.e.reasons[n])
	}
	if why != nil {
		return value.Needed(b.line, why...)
	}
	return value.Text(text, b.line)
}

// finish returns the call.
func (b *builder) finish() (*Call, error) {
	if len(b.urls) != 1 {
		return nil, fmt.Errorf("it has %d addresses; a job has one", len(b.urls))
	}
	address, err := b.address(b.urls[0])
	if err != nil {
		return nil, err
	}
	if b.get && b.noBody != "" {
		b.queryUnknown = true
	} else if b.get && b.hasData {
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + strings.Join(b.data, "&")
		b.hasData = false
	}
	if len(b.cookies) > 0 && !b.given["cookie"] {
		b.header("Cookie", strings.Join(b.cookies, "; "))
	}
	uri := b.text(address)
	if b.queryUnknown {
		uri, b.noBody, b.hasData = value.Needed(b.line, append(uri.Why, "a part of the address: "+b.noBody)...), "", false
	}
	r := value.Obj(b.line).Set("uri", uri).Set("method", value.Text(b.verb(), b.line))
	b.body(r)
	if len(b.headers) > 0 {
		headers := value.Obj(b.line)
		headers.Members = b.headers
		r.Set("headers", headers)
	}
	b.authentication(r)
	b.redirects(r)
	b.call.Fails = b.fails || b.wget
	b.call.Request, b.call.Retry = r, b.retry()
	return b.call, nil
}

// verb returns the method.
func (b *builder) verb() string {
	switch {
	case b.method != "":
		return b.method
	case b.head:
		return "HEAD"
	case b.get:
		return "GET"
	case b.hasData || b.noBody != "":
		return "POST"
	}
	return "GET"
}

// literalHost matches the beginning of an address with one of IPv6.
var literalHost = regexp.MustCompile(`^[a-zA-Z]+://\[[0-9a-fA-F:.]+\]`)

// address checks an address.
func (b *builder) address(address string) (string, error) {
	if strings.HasPrefix(address, hole) {
		return address, nil
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
		b.note("the address has no scheme, for which the command takes http")
	}
	scheme, _, _ := strings.Cut(address, "://")
	if scheme = strings.ToLower(scheme); scheme != "http" && scheme != "https" {
		return "", errors.New("its address is neither http nor https")
	}
	if !b.wget && strings.ContainsAny(literalHost.ReplaceAllString(address, "://x"), "{}[]") {
		return "", errors.New("curl makes several addresses of one with braces or brackets")
	}
	b.call.HTTPS, b.plain = scheme == "https", scheme == "http"
	if u, err := url.Parse(holes.ReplaceAllString(address, "x")); err == nil {
		b.call.Host = u.Hostname()
	}
	if ownHost.MatchString(b.call.Host) {
		b.differs("the address is that of the machine or container on which the command runs; here it is that of Almanac's worker, which refuses it unless --egress-allow has it: write the name of the host")
	}
	return address, nil
}

func (b *builder) body(r *value.Value) {
	switch {
	case b.noBody != "":
		r.Set("body", value.Needed(b.line, b.noBody))
	case b.hasData:
		separator := "&"
		if b.json {
			separator = ""
		}
		r.Set("body", b.text(strings.Join(b.data, separator)))
	default:
		return
	}
	if b.json {
		if !b.hasHeader("Content-Type") {
			b.header("Content-Type", "application/json")
		}
		if !b.hasHeader("Accept") {
			b.header("Accept", "application/json")
		}
	} else if !b.hasHeader("Content-Type") {
		b.header("Content-Type", "application/x-www-form-urlencoded")
	}
}

func (b *builder) authentication(r *value.Value) {
	if b.user == nil {
		return
	}
	auth := value.Obj(b.line).Set("type", value.Text("Basic", b.line)).Set("username", b.text(*b.user))
	if b.pass != nil {
		auth.Set("password", b.text(*b.pass))
	}
	r.Set("authentication", auth)
}

// ownHost matches names of the machine itself.
var ownHost = regexp.MustCompile(`(?i)^(localhost|.*\.localhost|127\.[0-9.]+|::1|0\.0\.0\.0|::)$`)

func (b *builder) redirects(r *value.Value) {
	if b.follow && b.plain {
		b.differs("the command follows redirects anywhere, and here only to the same scheme, host and port: if this http address leads to https, write that one")
		return
	}
	if b.follow {
		b.note("redirects are followed to the same scheme, host and port only")
		return
	}
	r.Set("followRedirects", value.Boolean(false, b.line))
}

// retry returns the retry policy.
func (b *builder) retry() *value.Value {
	if !b.wget && !b.fails {
		b.note("curl without -f takes each status for a success; here only 2xx is one")
	}
	p := value.Obj(b.line)
	if b.retries == 0 || b.wget {
		if b.wget && b.retries != 1 {
			b.note("wget tries again if the connection breaks; here there is one attempt: set a retryPolicy for more")
		}
		return p.Set("retryType", value.Text("none", b.line))
	}
	pause := max(b.delay, 15)
	b.note(fmt.Sprintf("curl's retries are written as %d retries, %d s apart; here they follow any failure", min(b.retries, 20), pause))
	return p.Set("retryType", value.Text("fixed", b.line)).
		Set("retryInterval", value.Text(fmt.Sprintf("%02d:%02d:%02d", pause/3600, pause/60%60, pause%60), b.line)).
		Set("retryCount", value.Int(min(b.retries, 20), b.line))
}
