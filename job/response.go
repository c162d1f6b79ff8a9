package job

import (
	"fmt"
	"strings"
)

// Beginnings of the parts of a message about a response.
const (
	responseHost    = "Http Action - Response from host '"
	responseHeaders = "' Response Headers: "
	responseBody    = " Body: "
)

// ResponseMessage describes the response to a web request in Azure Scheduler's format, which its clients parse: the host that was
// asked, the name of the status, and what the host sent.
func ResponseMessage(host, status, headers, body string) string {
	return responseHost + host + "': '" + status + responseHeaders + headers + responseBody + body
}

// hiddenResponse stands for what a host sent, where it is hidden.
const hiddenResponse = "hidden"

// WithoutResponse returns a text without the headers and the body of the response that a message in it describes, and all after
// them. It says that they are hidden. The text may begin with more than the message.
func WithoutResponse(text string) string {
	message := strings.Index(text, responseHost)
	if message < 0 {
		return text
	}
	sent := strings.Index(text[message:], responseHeaders)
	if sent < 0 {
		return text
	}
	return fmt.Sprintf("%s%s%s%s%s (a contributor may see them)", text[:message+sent], responseHeaders, hiddenResponse, responseBody, hiddenResponse)
}
