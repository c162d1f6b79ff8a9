package login

import (
	"net/url"
	"strings"
)

// maxReturn is the size limit of a path to return to, in bytes.
const maxReturn = 1024

// localPath returns a text if it is a path of this server that a browser can be sent to, with its query and fragment;
// otherwise "". A browser takes //host and /\host for other servers, and leaves out tabs and line ends.
func localPath(text string) string {
	if len(text) > maxReturn || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") {
		return ""
	}
	for _, r := range text {
		if r <= ' ' || r == 0x7f || r == '\\' {
			return ""
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return ""
	}
	if path := u.String(); !strings.HasPrefix(path, "//") {
		return path
	}
	return ""
}
