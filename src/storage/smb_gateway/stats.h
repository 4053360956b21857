/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts the requests and responses of an SMB client. Of encrypted messages only the number and the
 * bytes are known. */
#ifndef ADV_STORAGE_SMB_GATEWAY_STATS_H
#define ADV_STORAGE_SMB_GATEWAY_STATS_H

#include <stddef.h>

#include "storage/gateway/stats.h"

/* More than clients have credits. Message ids are in sequence, so each has its place. */
enum { ADV_SMB_TIMES = 512 };

/* When the requests without responses arrived. All 0: none. */
struct adv_smb_times {
	struct {
		uint64_t id, begun; /* begun: of adv_clock_ns(), or 0 */
	} at[ADV_SMB_TIMES];
};

/* A message of the client has arrived. */
void adv_smb_count_request(struct adv_smb_times *t, struct adv_gateway_counts *c,
			   const uint8_t *message, size_t length, uint64_t now);
/* A message of the server has arrived. */
void adv_smb_count_response(struct adv_smb_times *t, struct adv_gateway_counts *c,
			    const uint8_t *message, size_t length, uint64_t now);

#endif
