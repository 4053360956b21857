/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* In-band network telemetry: what each switch on the way of a frame adds to the frame, as "HPCC:
 * High Precision Congestion Control" (SIGCOMM 2019, section 3.2) describes it. Only simulated
 * switches have it. */
#ifndef ADV_NIC_WIRE_TELEMETRY_H
#define ADV_NIC_WIRE_TELEMETRY_H

#include <stdint.h>

/* Most switches that a frame notes. Further ones add nothing. */
#define ADV_TELEMETRY_HOPS 8
/* Bytes that telemetry adds to a frame: those of five switches (HPCC, section 4.1). */
#define ADV_TELEMETRY_BYTES 42

/* The output port of a switch when it sent the frame. */
struct adv_telemetry_hop {
	uint64_t at;	/* time, ns */
	uint64_t bytes; /* bytes that the port has sent */
	uint32_t queue; /* bytes that wait at the port */
	uint32_t mbps;	/* speed of the port */
};

struct adv_telemetry {
	uint32_t hops;
	struct adv_telemetry_hop hop[ADV_TELEMETRY_HOPS];
};

#endif
