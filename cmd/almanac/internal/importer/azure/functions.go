package azure

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"almanac/cmd/almanac/internal/importer/value"
)

// maxText is the size limit of a text that an expression makes, in bytes, and of a list, in items.
const maxText = 1 << 20

// maxReasons is how many reasons an unknown value has at most.
const maxReasons = 10

// A templateFunction is one of templates. A nil result means that its arguments are wrong.
type templateFunction func(s *scope, args []*value.Value) *value.Value

// runtime returns a function whose value exists only when a template is deployed.
func runtime(name string) templateFunction {
	return func(_ *scope, args []*value.Value) *value.Value {
		what := name + "(…)"
		if len(args) == 0 {
			what = name + "()"
		} else if text, ok := args[0].Str(); ok && isResource(text) {
			what = name + "(" + text + ")"
		} else if args[0].Kind == value.Unknown && args[0].Text != "" {
			what = name + "(" + args[0].Text + ")"
		}
		return value.Needed(0, what+", which exists only when the template is deployed")
	}
}

func isResource(text string) bool {
	return strings.HasPrefix(text, "/subscriptions/") || strings.HasPrefix(strings.ToLower(text), "microsoft.")
}

// strict returns a function that is unknown if an argument is.
func strict(f func(s *scope, args []*value.Value) *value.Value) templateFunction {
	return func(s *scope, args []*value.Value) *value.Value {
		var why []string
		for _, a := range args {
			a.Walk("", func(_ string, v *value.Value) bool {
				for _, w := range v.Why {
					if len(why) < maxReasons && !slices.Contains(why, w) {
						why = append(why, w)
					}
				}
				return true
			})
		}
		if why != nil {
			return value.Needed(0, why...)
		}
		return f(s, args)
	}
}

// formed returns a function that is unknown if an argument is, and then has the form of the text that it makes.
func formed(f templateFunction) templateFunction {
	f = strict(f)
	return func(s *scope, args []*value.Value) *value.Value {
		v := f(s, args)
		if v == nil || v.Kind != value.Unknown {
			return v
		}
		var b strings.Builder
		known := false
		for _, a := range args {
			text, ok := a.Str()
			switch known = known || ok && text != "" || a.Form != ""; {
			case ok:
				b.WriteString(text)
			case a.Form != "":
				b.WriteString(a.Form)
			default:
				b.WriteString("{…}")
			}
		}
		if known && b.Len() <= maxForm {
			v.Form = b.String()
		}
		return v
	}
}

// maxForm is the size limit of the form of a text, in bytes.
const maxForm = 300

func uriComponent(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func texts(args []*value.Value) ([]string, bool) {
	var all []string
	for _, a := range args {
		text, ok := a.Str()
		if !ok {
			return nil, false
		}
		all = append(all, text)
	}
	return all, true
}

// ofTexts returns a function of so many texts.
func ofTexts(n int, f func(t []string) string) templateFunction {
	return strict(func(_ *scope, args []*value.Value) *value.Value {
		t, ok := texts(args)
		if !ok || len(t) != n {
			return nil
		}
		return value.Text(f(t), 0)
	})
}

// ofNumbers returns a function of two numbers; false if it has no value.
func ofNumbers(f func(a, b int) (int, bool)) templateFunction {
	return strict(func(_ *scope, args []*value.Value) *value.Value {
		if len(args) != 2 {
			return nil
		}
		a, ok := args[0].Whole()
		b, also := args[1].Whole()
		if !ok || !also {
			return nil
		}
		n, ok := f(a, b)
		if !ok {
			return nil
		}
		return value.Int(n, 0)
	})
}

// tests returns a function of two texts that is true or false.
func tests(f func(a, b string) bool) templateFunction {
	return strict(func(_ *scope, args []*value.Value) *value.Value {
		t, ok := texts(args)
		if !ok || len(t) != 2 {
			return nil
		}
		return value.Boolean(f(t[0], t[1]), 0)
	})
}

// compares returns a function of two numbers or texts that is true or false.
func compares(f func(order int) bool) templateFunction {
	return strict(func(_ *scope, args []*value.Value) *value.Value {
		if len(args) != 2 {
			return nil
		}
		a, ok := args[0].Whole()
		b, also := args[1].Whole()
		if ok && also {
			return value.Boolean(f(a-b), 0)
		}
		t, ok := texts(args)
		if !ok {
			return nil
		}
		return value.Boolean(f(strings.Compare(t[0], t[1])), 0)
	})
}

// functions are those of templates, by their names in lower case.
var functions map[string]templateFunction

func init() { //nolint:gochecknoinits // the table refers to functions that refer to it
	functions = map[string]templateFunction{
		"concat": formed(concat), "format": strict(format), "replace": strict(replace), "resourceid": resourceID,
		"subscriptionresourceid": resourceID, "extensionresourceid": runtime("extensionResourceId"), "tenantresourceid": resourceID,
		"tolower":        ofTexts(1, func(t []string) string { return strings.ToLower(t[0]) }),
		"toupper":        ofTexts(1, func(t []string) string { return strings.ToUpper(t[0]) }),
		"trim":           ofTexts(1, func(t []string) string { return strings.TrimSpace(t[0]) }),
		"base64":         ofTexts(1, func(t []string) string { return base64.StdEncoding.EncodeToString([]byte(t[0])) }),
		"base64tostring": strict(fromBase64),
		"uricomponent":   ofTexts(1, func(t []string) string { return uriComponent(t[0]) }),
		"uri":            strict(resolve),
		"string":         strict(toText), "int": strict(toInt), "bool": strict(toBool), "json": strict(fromJSON),
		"substring": strict(substring), "split": strict(split), "join": strict(join), "length": strict(length),
		"first": strict(first), "last": strict(last), "empty": strict(empty), "contains": strict(contains),
		"startswith": tests(func(a, b string) bool { return strings.HasPrefix(strings.ToLower(a), strings.ToLower(b)) }),
		"endswith":   tests(func(a, b string) bool { return strings.HasSuffix(strings.ToLower(a), strings.ToLower(b)) }),
		"equals":     strict(equals), "not": strict(not), "and": strict(and), "or": strict(or),
		"less":            compares(func(n int) bool { return n < 0 }),
		"greater":         compares(func(n int) bool { return n > 0 }),
		"lessorequals":    compares(func(n int) bool { return n <= 0 }),
		"greaterorequals": compares(func(n int) bool { return n >= 0 }),
		"add":             ofNumbers(func(a, b int) (int, bool) { return a + b, true }),
		"sub":             ofNumbers(func(a, b int) (int, bool) { return a - b, true }),
		"mul":             ofNumbers(func(a, b int) (int, bool) { return a * b, true }),
		"div":             ofNumbers(divide), "mod": ofNumbers(modulo),
		"createarray": list, "array": strict(array), "createobject": createObject, "union": strict(union), "coalesce": coalesce,
		"true":   func(*scope, []*value.Value) *value.Value { return value.Boolean(true, 0) },
		"false":  func(*scope, []*value.Value) *value.Value { return value.Boolean(false, 0) },
		"null":   func(*scope, []*value.Value) *value.Value { return &value.Value{} },
		"utcnow": utcNow, "copyindex": copyIndex, "resourcegroup": resourceGroup, "subscription": subscription, "deployment": runtime("deployment"),
		"datetimeadd": runtime("dateTimeAdd"),
	}
	for _, name := range []string{
		"reference", "list", "listKeys", "listSecrets", "listAccountSas", "listServiceSas", "uniqueString", "guid", "newGuid",
		"environment", "managementGroup", "tenant", "providers", "pickZones", "listCallbackUrl", "listAdminKeys", "listQueryKeys", "getSecret",
		"deployer",
	} {
		functions[strings.ToLower(name)] = runtime(name)
	}
}

func concat(_ *scope, args []*value.Value) *value.Value {
	if len(args) > 0 && args[0].Kind == value.List {
		all := &value.Value{Kind: value.List}
		for _, a := range args {
			if all.Items = append(all.Items, a.Items...); len(all.Items) > maxText {
				return nil
			}
		}
		return all
	}
	var b strings.Builder
	for _, a := range args {
		text, ok := a.Str()
		if !ok || b.Len()+len(text) > maxText {
			return nil
		}
		b.WriteString(text)
	}
	return value.Text(b.String(), 0)
}

func fromBase64(_ *scope, args []*value.Value) *value.Value {
	t, ok := texts(args)
	if !ok || len(t) != 1 {
		return nil
	}
	text, err := base64.StdEncoding.DecodeString(t[0])
	if err != nil || !utf8.Valid(text) {
		return value.Needed(0, "base64ToString of what is no text in base64")
	}
	return value.Text(string(text), 0)
}

// resolve returns an address relative to another one, as RFC 3986 resolves it.
func resolve(_ *scope, args []*value.Value) *value.Value {
	t, ok := texts(args)
	if !ok || len(t) != 2 {
		return nil
	}
	base, err := url.Parse(t[0])
	if err != nil || base.Scheme == "" || base.Host == "" {
		return value.Needed(0, "uri() of what is no whole address")
	}
	relative, err := url.Parse(t[1])
	if err != nil {
		return value.Needed(0, "uri() with what is no relative address")
	}
	return value.Text(base.ResolveReference(relative).String(), 0)
}

// formItem matches what format replaces.
var formItem = regexp.MustCompile(`\{(\d+)([^{}]*)\}`)

// format puts texts in place of {0}, {1}.
func format(_ *scope, args []*value.Value) *value.Value {
	t, ok := texts(args)
	if !ok || len(t) == 0 {
		return nil
	}
	text := strings.NewReplacer("{{", "\x00", "}}", "\x01").Replace(t[0])
	for _, item := range formItem.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(item[1]); item[2] != "" || err != nil || n >= len(t)-1 {
			return value.Needed(0, "format with a form that is not known here, or of an argument that is not there")
		}
	}
	made := len(text)
	text = formItem.ReplaceAllStringFunc(text, func(item string) string {
		n, _ := strconv.Atoi(strings.Trim(item, "{}"))
		if made += len(t[n+1]); made > maxText {
			return ""
		}
		return t[n+1]
	})
	if made > maxText {
		return nil
	}
	return value.Text(strings.NewReplacer("\x00", "{", "\x01", "}").Replace(text), 0)
}

func replace(_ *scope, args []*value.Value) *value.Value {
	t, ok := texts(args)
	if !ok || len(t) != 3 || t[1] == "" || len(t[0])+strings.Count(t[0], t[1])*len(t[2]) > maxText {
		return nil
	}
	return value.Text(strings.ReplaceAll(t[0], t[1], t[2]), 0)
}

// resourceID returns the id of a resource, whose subscription and group are unknown; its text names the rest.
func resourceID(_ *scope, args []*value.Value) *value.Value {
	what := "a resource"
	for i, a := range args {
		text, ok := a.Str()
		if !ok || !strings.Contains(text, "/") {
			continue
		}
		what = text
		for _, name := range args[i+1:] {
			if text, ok := name.Str(); ok && len(what)+len(text) < maxText {
				what += " " + text
			}
		}
		break
	}
	v := value.Needed(0, "the id of "+what+", which depends on the subscription and the resource group")
	v.Text = what
	return v
}

func utcNow(s *scope, args []*value.Value) *value.Value {
	now := s.c.o.Now.UTC()
	form := ""
	if len(args) > 0 {
		form, _ = args[0].Str()
	}
	s.c.usedNow = true
	switch form {
	case "", "yyyyMMddTHHmmssZ":
		return value.Text(now.Format("20060102T150405Z"), 0)
	case "u":
		return value.Text(now.Format("2006-01-02 15:04:05Z"), 0)
	case "o", "O":
		return value.Text(now.Format("2006-01-02T15:04:05.0000000Z"), 0)
	case "yyyy-MM-ddTHH:mm:ssZ", "s":
		return value.Text(now.Format(time.RFC3339), 0)
	case "yyyy-MM-dd", "d":
		return value.Text(now.Format(time.DateOnly), 0)
	}
	return value.Needed(0, "utcNow with a format that is not known here")
}

func copyIndex(s *scope, args []*value.Value) *value.Value {
	name, offset := "", 0
	for _, a := range args {
		if n, ok := a.Whole(); ok && a.Kind == value.Number {
			offset = n
		} else {
			name, _ = a.Str()
		}
	}
	i, ok := s.copies[strings.ToLower(name)]
	if !ok {
		return nil
	}
	return value.Int(i+offset, 0)
}

// group returns an object that is known only when the template is deployed.
func group(name string, members ...string) *value.Value {
	o := value.Obj(0)
	for _, m := range members {
		o.Set(m, value.Needed(0, name+"()."+m+", which exists only when the template is deployed"))
	}
	return o
}

func resourceGroup(*scope, []*value.Value) *value.Value {
	return group("resourceGroup", "id", "name", "location", "tags", "properties")
}

func subscription(*scope, []*value.Value) *value.Value {
	return group("subscription", "id", "subscriptionId", "tenantId", "displayName")
}
