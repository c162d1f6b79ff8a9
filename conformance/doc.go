// Package conformance has the two official clients of Azure Scheduler, for Go
// and for Node, drive every operation of a running Almanac, without a login and
// with tokens of OpenID Connect issuers, and a browser try out every operation
// on its documentation page, and the console. In the browser a page of somebody
// else also tries to change and to read what every listener has.
//
// Its tests build Almanac and start it on free ports of this machine. With
// ALMANAC_URL they use the one at that address instead, which has to reach this
// machine at 127.0.0.1; tests that need settings of their own start another one
// all the same. What the clients make is in subscriptions of their own; what the
// page makes is in the default one, and deleted in the end.
package conformance
