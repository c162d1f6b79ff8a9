package senders

import (
	"encoding/base64"
	"encoding/xml"
	"strings"

	"almanac/job"
)

// A storageQueueMessage is Azure Scheduler's class StorageQueueMessage, members in the same order.
type storageQueueMessage struct {
	XMLName                  xml.Name `xml:"StorageQueueMessage"`
	XSD                      string   `xml:"xmlns:xsd,attr"`
	XSI                      string   `xml:"xmlns:xsi,attr"`
	ExecutionTag             string
	ClientRequestID          string `xml:"ClientRequestId"`
	ExpectedExecutionTime    string
	SchedulerJobID           string `xml:"SchedulerJobId"`
	SchedulerJobCollectionID string `xml:"SchedulerJobCollectionId"`
	Region                   string
	Message                  string
}

// The declaration says utf-16 as .NET writes it for text in memory, but the bytes are UTF-8. Receivers
// decode the bytes before they parse the text.
const xmlDeclaration = `<?xml version="1.0" encoding="utf-16"?>` + "\r\n"

// envelope returns a message as Azure Scheduler put it on a queue: base64 of XML that identifies the
// execution.
func envelope(e job.Execution, message string) (string, error) {
	text, err := xml.MarshalIndent(storageQueueMessage{
		XSD:                      "http://www.w3.org/2001/XMLSchema",
		XSI:                      "http://www.w3.org/2001/XMLSchema-instance",
		ExecutionTag:             strings.ReplaceAll(e.ID, "-", ""),
		ClientRequestID:          e.ID,
		ExpectedExecutionTime:    e.Due.UTC().Format("2006-01-02T15:04:05"),
		SchedulerJobID:           e.Job,
		SchedulerJobCollectionID: e.Collection,
		Region:                   "Almanac",
		Message:                  message,
	}, "", "  ")
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(append([]byte(xmlDeclaration), text...)), nil
}
