/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The emulator: the simulated Ethernet of src/fabric in real time, with programs behind its hosts.
 *
 *	adv_emulator_create(&config, why);	namespaces and sockets
 *	adv_emulator_run(e);			until adv_port_type ADV_PORT_DOWN, or stop
 *	adv_emulator_destroy(e);
 *
 * The switches, queues and cables are those of adv_fabric_run(): there is no second implementation.
 * Virtual time follows the clock (fabric/network/pace.h). One thread does everything. What a
 * program writes into its rings concerns its own port only: frames that are not valid are dropped
 * and counted, and a program whose ring is not valid is disconnected.
 */
#ifndef ADV_FABRIC_EMULATOR_EMULATOR_H
#define ADV_FABRIC_EMULATOR_EMULATOR_H

#include <signal.h>

#include "fabric/network/external.h"
#include "fabric/network/fabric.h"
#include "fabric/network/pace.h"
#include "nic/wire/dcbx.h"

#define ADV_EMULATOR_WHY   512
#define ADV_EMULATOR_HOSTS 1024 /* at most */

/* At most so many flows of programs are counted one by one. */
#define ADV_EMULATOR_FLOWS 4096

/* The frames of programs from a host to a queue pair of another one. Bytes are those from the BTH
 * to the end of the padding. */
struct adv_emulator_flow {
	uint32_t from; /* host; UINT32_MAX: all flows without an entry of their own */
	uint32_t to;   /* host */
	uint32_t qpn;  /* the destination QP */
	uint64_t sent; /* frames that entered the NIC */
	uint64_t sent_bytes;
	uint64_t received; /* frames that arrived at the host */
	uint64_t received_bytes;
	uint64_t marked; /* received ones with an ECN mark */
	uint64_t first;	 /* virtual time at which the first frame was sent, ps */
	uint64_t last;	 /* virtual time of the last arrival, ps */
};

struct adv_emulator_config {
	struct adv_fabric *fabric; /* not run yet; the caller keeps it */
	const struct adv_topology *topology;
	uint32_t numerator; /* virtual time is the clock's time x numerator / denominator */
	uint32_t denominator;
	uint32_t mtu;			   /* path MTU of the fabric, bytes */
	uint32_t network;		   /* IPv4 address of the first host, host byte order */
	const char *name;		   /* of the scenario, for status */
	const volatile sig_atomic_t *stop; /* ends adv_emulator_run() if it is not 0 */
	/* What the ports of switches advertise to hosts by DCBX; NULL: nothing. Copied. */
	const struct adv_dcbx *dcbx;
	/* Called at virtual time next(user) or later, as long as that is not UINT64_MAX; for
	 * samples. NULL: none. */
	uint64_t (*next)(void *user);
	void (*sample)(void *user);
	/* Writes the report to the descriptor, on ADV_PORT_DOWN. Of adv_emulator_flows(): flow and
	 * count. NULL: there is none. */
	bool (*report)(void *user, int fd, const struct adv_emulator_flow *flow, uint32_t count);
	void *user;
};

struct adv_emulator;

/* Makes the namespaces and sockets. The process must have one thread. From now on it is in the
 * namespace of the bridge (emulator/network.h). NULL with a line in why[]. */
struct adv_emulator *adv_emulator_create(const struct adv_emulator_config *config,
					 char why[ADV_EMULATOR_WHY]);
void adv_emulator_destroy(struct adv_emulator *e);

/* Runs until a tool ends the emulator, or *stop is set. 0, or ENOMEM. */
int adv_emulator_run(struct adv_emulator *e);

#endif
