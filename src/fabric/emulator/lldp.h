/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LLDP of the emulated switches: each port to a host tells the host's interface its settings of
 * PFC, ETS and the map of DSCPs by DCBX (nic/wire/dcbx.h), four times in the first seconds and then
 * every 30 s, as IEEE 802.1AB says (msgFastTx, txFastInit, msgTxInterval). The ports are not
 * willing and do not listen.
 */
#ifndef ADV_FABRIC_EMULATOR_LLDP_H
#define ADV_FABRIC_EMULATOR_LLDP_H

#include "nic/wire/dcbx.h"

struct adv_lldp_port;

struct adv_lldp {
	int fd; /* a packet(7) socket in the namespace of the bridge; -1: none */
	uint32_t ports;
	struct adv_lldp_port *port;
	struct adv_dcbx dcbx;
	uint32_t next; /* port that sends next */
	unsigned rounds;
	uint64_t at; /* time of that, ns; UINT64_MAX: never */
};

/* Prepares to send for the ports of `ports` hosts, from the time `now` on, ns. Call it in the
 * namespace of the bridge. 0 or errno; nothing is then sent, and *l need not be closed. */
int adv_lldp_open(struct adv_lldp *l, const struct adv_dcbx *dcbx, uint32_t ports, uint64_t now);
void adv_lldp_close(struct adv_lldp *l);

/* Sends the frame of the next port and sets l->at. Does not block; call it at l->at. */
void adv_lldp_send(struct adv_lldp *l, uint64_t now);

#endif
