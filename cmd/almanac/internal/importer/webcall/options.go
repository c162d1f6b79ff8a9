package webcall

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// requestLimit is the default of Almanac's limit of the time of a request, in seconds.
const requestLimit = 60

const limitNote = "the limit of the time is that of Almanac's requests, 60 s by default"

// unlessGiven sets a header that --header replaces wherever it stands.
func (b *builder) unlessGiven(name, text string) {
	if !b.given[strings.ToLower(name)] {
		b.header(name, text)
	}
}

func nothing(*builder, string) error { return nil }

// noted returns an option that is left out with a note.
func noted(text string) func(*builder, string) error {
	return func(b *builder, _ string) error {
		b.note(text)
		return nil
	}
}

// Options of both commands.
var (
	quiet   = option{do: nothing}
	ignored = option{arg: true, do: nothing}
	toFile  = option{arg: true, do: func(b *builder, arg string) error {
		if arg != "-" && arg != "/dev/null" && arg != "/dev/stdout" && arg != "NUL" {
			b.note("the answer is not written to a file; the history shows its beginning")
		}
		return nil
	}}
	insecure = option{do: func(b *builder, _ string) error {
		b.differs("the command takes any certificate of the host, and here it has to be one that is trusted (--ca-file adds an authority)")
		return nil
	}}
	maxTime = option{arg: true, do: func(b *builder, arg string) error {
		if seconds, err := strconv.ParseFloat(arg, 64); err == nil && (seconds <= 0 || seconds > requestLimit) {
			b.differs(fmt.Sprintf("the command waits for an answer longer than Almanac's requests, whose limit is %d s by default", requestLimit))
			return nil
		}
		b.note(limitNote)
		return nil
	}}
	timeout   = option{arg: true, do: noted(limitNote)}
	userAgent = option{arg: true, do: func(b *builder, arg string) error {
		b.unlessGiven("User-Agent", arg)
		return nil
	}}
	referer = option{arg: true, do: func(b *builder, arg string) error {
		b.unlessGiven("Referer", arg)
		return nil
	}}
	method = option{arg: true, do: func(b *builder, arg string) error {
		b.method = arg
		return nil
	}}
	header = option{arg: true, do: func(b *builder, arg string) error {
		name, text, found := strings.Cut(arg, ":")
		switch {
		case strings.HasPrefix(arg, "@"):
			return errors.New("its headers are in a file")
		case !found && strings.HasSuffix(arg, ";"):
			return b.plainHeader(strings.TrimSuffix(arg, ";"), "")
		case !found:
			return errors.New("a header has no colon")
		case strings.TrimSpace(text) == "":
			b.note("a header that the command leaves out is left out here as well, unless Almanac sets it")
		default:
			return b.plainHeader(strings.TrimSpace(name), strings.TrimSpace(text))
		}
		return nil
	}}
	retries = option{arg: true, do: func(b *builder, arg string) error {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 {
			return errors.New("the number of retries is none")
		}
		b.retries = n
		return nil
	}}
)

// data returns an option for a part of the body.
func data(read func(b *builder, arg string) error) option { return option{arg: true, do: read} }

// Reading of a file that @ names.
const (
	noFiles  = iota
	lines    // without line breaks
	verbatim // as it is
)

// plainData adds a part of the body. files says what @ does.
func plainData(files int, json bool) func(b *builder, arg string) error {
	return func(b *builder, arg string) error {
		b.json = b.json || json
		if files != noFiles && strings.HasPrefix(arg, "@") {
			if arg != "@-" || b.e.Stdin == nil {
				b.noBody = "the body is in a file that the command reads"
				return nil
			}
			if arg = *b.e.Stdin; files == lines {
				arg = strings.NewReplacer("\r", "", "\n", "").Replace(arg)
			}
		}
		b.hasData = true
		b.data = append(b.data, arg)
		return nil
	}
}

func encodedData(b *builder, arg string) error {
	name, text, found := strings.Cut(arg, "=")
	if !found {
		if strings.Contains(arg, "@") {
			b.noBody = "a part of the body is in a file that the command reads"
			return nil
		}
		name, text = "", arg
	}
	encoded := strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	if strings.Contains(text, hole) {
		encoded = text
	}
	if name != "" {
		encoded = name + "=" + encoded
	}
	b.hasData = true
	b.data = append(b.data, encoded)
	return nil
}

func userOf(b *builder, arg string) error {
	user, password, found := strings.Cut(arg, ":")
	b.user = &user
	if found {
		b.pass = &password
	}
	return nil
}

func user(b *builder, arg string) error {
	b.user = &arg
	return nil
}

func password(b *builder, arg string) error {
	b.pass = &arg
	return nil
}

func bearer(b *builder, arg string) error {
	b.header("Authorization", "Bearer "+arg)
	return nil
}

func cookie(b *builder, arg string) error {
	if !strings.Contains(arg, "=") {
		return errors.New("its cookies are in a file")
	}
	b.cookies = append(b.cookies, strings.TrimSuffix(strings.TrimSpace(arg), ";"))
	return nil
}

// with returns a table with other names of its options.
func with(table map[string]option, names map[string]string) map[string]option {
	for name, of := range names {
		table[name] = table[of]
	}
	return table
}

var curlOptions = with(map[string]option{
	"--request": method, "--header": header, "--user-agent": userAgent, "--referer": referer, "--output": toFile,
	"--max-time": maxTime, "--connect-timeout": timeout, "--retry": retries, "--insecure": insecure,
	"--data":          data(plainData(lines, false)),
	"--data-binary":   data(plainData(verbatim, false)),
	"--data-raw":      data(plainData(noFiles, false)),
	"--json":          data(plainData(verbatim, true)),
	"--url":           {arg: true, do: func(b *builder, arg string) error { b.urls = append(b.urls, arg); return nil }},
	"--user":          {arg: true, do: userOf},
	"--cookie":        {arg: true, do: cookie},
	"--get":           {do: func(b *builder, _ string) error { b.get = true; return nil }},
	"--head":          {do: func(b *builder, _ string) error { b.head = true; return nil }},
	"--location":      {do: func(b *builder, _ string) error { b.follow = true; return nil }},
	"--fail":          {do: func(b *builder, _ string) error { b.fails = true; return nil }},
	"--retry-delay":   {arg: true, do: func(b *builder, arg string) error { b.delay, _ = strconv.Atoi(arg); return nil }},
	"--remote-name":   {do: noted("the answer is not written to a file; the history shows its beginning")},
	"--oauth2-bearer": {arg: true, do: bearer}, "--data-urlencode": data(encodedData),
	"--silent": quiet, "--show-error": quiet, "--compressed": quiet, "--http1.1": quiet, "--http2": quiet, "--http1.0": quiet,
	"--ipv4": quiet, "--ipv6": quiet, "--no-buffer": quiet, "--include": quiet, "--verbose": quiet, "--progress-bar": quiet,
	"--tlsv1.2": quiet, "--tlsv1.3": quiet, "--retry-connrefused": quiet, "--retry-all-errors": quiet, "--no-progress-meter": quiet,
	"--basic": quiet, "--create-dirs": quiet, "--no-keepalive": quiet, "--disable": quiet, "--raw": quiet, "--tcp-nodelay": quiet,
	"--retry-max-time": ignored, "--write-out": ignored, "--dump-header": ignored, "--noproxy": ignored, "--stderr": ignored,
}, map[string]string{
	"-X": "--request", "-H": "--header", "-A": "--user-agent", "-e": "--referer", "-o": "--output", "-m": "--max-time",
	"-k": "--insecure", "-d": "--data", "--data-ascii": "--data", "-u": "--user", "-b": "--cookie", "-G": "--get", "-I": "--head",
	"-L": "--location", "--location-trusted": "--location", "-f": "--fail", "--fail-with-body": "--fail", "-O": "--remote-name",
	"-s": "--silent", "-S": "--show-error", "-4": "--ipv4", "-6": "--ipv6", "-N": "--no-buffer", "-i": "--include",
	"-v": "--verbose", "-#": "--progress-bar", "-w": "--write-out", "-D": "--dump-header", "-q": "--disable",
	"--show-headers": "--include", "-0": "--http1.0", "--fail-early": "--silent", "-J": "--silent", "--remote-header-name": "--silent",
})

var wgetOptions = with(map[string]option{
	"--method": method, "--header": header, "--user-agent": userAgent, "--referer": referer, "--output-document": toFile,
	"--timeout": maxTime, "--connect-timeout": timeout, "--read-timeout": maxTime, "--dns-timeout": timeout, "--tries": retries,
	"--no-check-certificate": insecure,
	"--post-data":            data(plainData(noFiles, false)),
	"--body-data":            data(plainData(noFiles, false)),
	"--post-file": {arg: true, do: func(b *builder, _ string) error {
		b.noBody = "the body is in a file that the command reads"
		return nil
	}},
	"--user":         {arg: true, do: user},
	"--password":     {arg: true, do: password},
	"--spider":       {do: func(b *builder, _ string) error { b.head = true; return nil }},
	"--max-redirect": {arg: true, do: func(b *builder, arg string) error { b.follow = arg != "0"; return nil }},
	"--no-cache": {do: func(b *builder, _ string) error {
		b.header("Cache-Control", "no-cache")
		b.header("Pragma", "no-cache")
		return nil
	}},
	"--quiet": quiet, "--no-verbose": quiet, "--verbose": quiet, "--delete-after": quiet, "--inet4-only": quiet, "--inet6-only": quiet,
	"--server-response": quiet, "--no-proxy": quiet, "--no-dns-cache": quiet, "--auth-no-challenge": quiet, "--background": quiet,
	"--no-hsts": quiet, "--content-on-error": quiet, "--no-cookies": quiet,
	"--output-file": ignored, "--append-output": ignored, "--waitretry": ignored, "--wait": ignored, "--directory-prefix": ignored,
	"--show-progress": quiet, "--progress": ignored,
}, map[string]string{
	"-O": "--output-document", "-T": "--timeout", "-t": "--tries", "-U": "--user-agent", "-q": "--quiet", "-v": "--verbose",
	"-4": "--inet4-only", "-6": "--inet6-only", "-S": "--server-response", "-o": "--output-file", "-a": "--append-output",
	"-b": "--background", "-P": "--directory-prefix", "--http-user": "--user", "--http-password": "--password",
})
