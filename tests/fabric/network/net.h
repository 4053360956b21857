/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A fabric for tests, with the configuration of adv_fabric_defaults(). */
#ifndef ADV_TESTS_FABRIC_NETWORK_NET_H
#define ADV_TESTS_FABRIC_NETWORK_NET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fabric/network/calendar.h"
#include "fabric/switch/egress.h"
#include "fabric/network/fabric.h"

#define NS	 ADV_PS_PER_NS
#define US	 ADV_PS_PER_US
#define MS	 ADV_PS_PER_MS
#define GBPS_100 80 /* ps per byte */

struct net {
	struct adv_topology t;
	struct adv_fabric_config config;
	struct adv_fabric *f;
	bool unwatched;	    /* no events are reported */
	uint64_t digest;    /* hash of all reported events */
	uint64_t events[8]; /* number of events of switches, by enum adv_switch_event */
};

/* Returns a cable of 100 Gb/s and the given length. */
struct adv_cable cable_of(unsigned metres);

/* Sets the configuration. Before the call, the caller makes n->t. The caller may change n->config
 * before net_start(). */
void net_open(struct net *n);
void net_start(struct net *n);
/* Checks that every frame was delivered, was dropped, or is still in the fabric. */
void net_conserved(const struct net *n);
void net_close(struct net *n);

uint32_t net_connect(struct net *n, uint32_t from, uint32_t to, enum adv_fabric_operation operation,
		     uint8_t dscp);
/* Makes a ring of four switches with one-way routes and eight hosts, and flows that block each
 * other. Opens and starts it. */
void net_open_deadlock(struct net *n);
/* Adds a connection and a transfer that starts at once. Returns the transfer's number. */
uint32_t net_write(struct net *n, uint32_t from, uint32_t to, uint8_t dscp, uint64_t bytes);
/* Returns the drops for one reason at all switches. */
uint64_t net_drops(const struct net *n, enum adv_drop why);
uint64_t net_all_drops(const struct net *n);
/* Checks that the first `count` transfers succeeded. */
void net_all_done(const struct net *n, uint32_t count);

#endif
