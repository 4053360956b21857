/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the target reports for a log: hosts that connect, leave and are refused, and failures. The
 * target keeps reports until the owner takes them; if it has too many, it counts those it leaves
 * out.
 */
#ifndef ADV_STORAGE_NVME_TARGET_REPORT_H
#define ADV_STORAGE_NVME_TARGET_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/nvme/connect.h"

#define ADV_NVME_PEER_LEN 64 /* of an address as text */
#define ADV_NVME_PORT_LEN 8  /* of a port as text */

enum adv_nvme_report_kind {
	ADV_NVME_REPORT_REJECTED,     /* a connection request */
	ADV_NVME_REPORT_REFUSED,      /* a Connect */
	ADV_NVME_REPORT_CONNECTED,    /* a new controller */
	ADV_NVME_REPORT_DISCONNECTED, /* the end of a controller */
	ADV_NVME_REPORT_CLOSED,	      /* a connection that the target closes */
	ADV_NVME_REPORT_FAILED,	      /* a command that is not the host's fault */
};

struct adv_nvme_report {
	enum adv_nvme_report_kind kind;
	bool discovery;			 /* of a discovery controller */
	char port[ADV_NVME_PORT_LEN];	 /* of the target */
	char peer[ADV_NVME_PEER_LEN];	 /* the host's address */
	char host_nqn[ADV_NVME_NQN_LEN]; /* printable, as the next one; "": not known */
	char subsystem_nqn[ADV_NVME_NQN_LEN];
	uint16_t qid, cntlid;
	const char *why; /* valid for good */
	const char *command;
	uint32_t nsid;
	uint64_t lba;
};

/* Writes a report as a line without its end. */
void adv_nvme_report_print(const struct adv_nvme_report *report, char *text, size_t size);

#define ADV_NVME_REPORT_TEXT 768

#endif
