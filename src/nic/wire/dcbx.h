/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DCBX: what a port tells its neighbour about PFC, ETS and the priorities of applications, in LLDP
 * (IEEE 802.1Q-2018 clauses 38 and D.2, formerly 802.1Qaz; IEEE 802.1AB). These functions convert
 * between frames and a structure. They accept any bytes.
 */
#ifndef ADV_NIC_WIRE_DCBX_H
#define ADV_NIC_WIRE_DCBX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_DCBX_CLASSES   8
#define ADV_DCBX_APPS	   128
#define ADV_LLDP_ETHERTYPE 0x88cc
/* Largest frame that adv_dcbx_encode() writes: Ethernet, and a TLV of the largest size for each of
 * nine TLVs. */
#define ADV_DCBX_FRAME_MAX 1024

/* Transmission selection algorithms (802.1Q table 8-6). */
enum adv_dcbx_tsa {
	ADV_DCBX_STRICT = 0,
	ADV_DCBX_CREDIT = 1,
	ADV_DCBX_ETS = 2,
	ADV_DCBX_VENDOR = 255
};

/* What an application entry selects (802.1Q table D-8). */
enum adv_dcbx_selector {
	ADV_DCBX_ETHERTYPE = 1,
	ADV_DCBX_TCP = 2,
	ADV_DCBX_UDP = 3,
	ADV_DCBX_PORT = 4, /* TCP, UDP, SCTP or DCCP port */
	ADV_DCBX_DSCP = 5,
};

struct adv_dcbx_ets {
	bool present;
	bool willing;	     /* the port takes its neighbour's values; not in a recommendation */
	bool cbs;	     /* the port supports credit-based shaping */
	uint8_t max_classes; /* 1 to 8 */
	uint8_t class_of[ADV_DCBX_CLASSES];  /* by priority */
	uint8_t percent[ADV_DCBX_CLASSES];   /* by traffic class */
	uint8_t algorithm[ADV_DCBX_CLASSES]; /* enum adv_dcbx_tsa, or any value */
};

struct adv_dcbx_app {
	uint8_t priority;
	uint8_t selector;  /* enum adv_dcbx_selector, or any value up to 7 */
	uint16_t protocol; /* Ethertype, port or DSCP */
};

struct adv_dcbx {
	uint8_t mac[6]; /* of the sending port */
	struct adv_dcbx_ets configuration;
	struct adv_dcbx_ets recommendation;
	struct {
		bool present;
		bool willing;
		bool mbc;	 /* MACsec delays the response to a pause (bypass not capable) */
		uint8_t classes; /* traffic classes that may have PFC at a time */
		uint8_t enabled; /* priorities, a bit each */
	} pfc;
	unsigned apps;
	struct adv_dcbx_app app[ADV_DCBX_APPS];
	bool more_apps; /* decoded: further entries are left out */
	bool old; /* decoded: it has TLVs of an older DCBX (CEE or Cisco's), which are not read */
};

/* Writes an LLDP frame without FCS. Returns its length; 0: there are more than ADV_DCBX_APPS
 * applications, or more than `room` bytes are needed. */
size_t adv_dcbx_encode(const struct adv_dcbx *d, uint8_t *frame, size_t room);

/* Reads an Ethernet frame without FCS, also with a VLAN tag. Returns NULL, or the reason why it is
 * no well-formed LLDP frame; *d is then unspecified. A frame without DCBX is well-formed. Of TLVs
 * that occur twice, the first counts. */
const char *adv_dcbx_decode(const uint8_t *frame, size_t len, struct adv_dcbx *d);

#endif
