/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two nodes with a connection manager each, whose clock the tests set. Includes cmocka after the
 * headers that cmocka requires. */
#ifndef ADV_TESTS_NIC_CM_HARNESS_H
#define ADV_TESTS_NIC_CM_HARNESS_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nic/cm/state.h"

#define MS   UINT64_C(1000000)
#define SEC  UINT64_C(1000000000)
#define PORT 7471

struct node {
	struct adv_cm *cm;
	struct adv_gid gid;
	uint64_t guid; /* in host byte order */
};

struct pair {
	struct node a; /* 10.0.0.1, mostly the connecting side */
	struct node b; /* 10.0.0.2, mostly the listening side */
	uint64_t now;
};

struct adv_gid ipv4(unsigned last);
struct adv_cm_addr addr_of(const struct adv_gid *ip, uint16_t port);
void node_open(struct node *n, unsigned number, uint64_t seed);
/* As node_open(), with a P_Key table as adv_pkey_table_parse() reads it. */
void node_open_with(struct node *n, unsigned number, uint64_t seed, const char *pkeys);
void node_close(struct node *n);

/* Setup for cmocka: *state is a struct pair. The teardown checks that all ended ids are freed. */
int pair_setup(void **state);
int pair_teardown(void **state);

struct adv_cm_id *new_id(struct node *n, enum rdma_port_space ps);
/* Makes a listener bound to the address of n, or to the wildcard if `any`. */
struct adv_cm_id *listener(struct node *n, enum rdma_port_space ps, bool any, unsigned backlog);
/* Makes an id with a route from one node to port PORT of the other. */
struct adv_cm_id *routed(struct node *from, const struct node *to, enum rdma_port_space ps);
struct adv_cm_route route_to(const struct node *from, const struct node *to);
struct adv_cm_conn_param conn_param(uint32_t qpn, const char *private_data);

/* Returns the next MAD of a node, decoded; fails if there is none. */
struct adv_cm_packet sent(struct pair *p, struct node *from);
void nothing_sent(struct pair *p, struct node *from);
/* Passes a MAD to a node, with the other node as its source. */
void give(struct pair *p, struct node *to, const struct adv_cm_packet *packet);
/* Passes a MAD to a node, with the source address `from`. */
void give_from(struct pair *p, struct node *to, const struct adv_gid *from,
	       const struct adv_cm_packet *packet);
/* Passes all MADs between the two nodes until neither has more to send. */
void pump(struct pair *p);
/* Moves the clock to the next deadline of either node and runs it. */
void pass(struct pair *p);

struct adv_cm_event event_of(struct node *n, enum rdma_cm_event_type type);
void no_event(struct node *n);

/* A connection: the active end is at node a, the passive end at node b. */
struct connection {
	struct adv_cm_id *listen;
	struct adv_cm_id *active;
	struct adv_cm_id *passive;
};

/* Make a connection: requested() until the REQ is received, responded() until the REP is received,
 * connected() until it is established. */
struct connection requested(struct pair *p);
struct connection responded(struct pair *p);
struct connection connected(struct pair *p);

#endif
