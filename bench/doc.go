// Package bench compares package recurrence with the engines that Go programs
// use for the same purpose: cron expressions and RFC 5545 recurrence rules. It is
// a module of its own, so that the product does not depend on them.
package bench
