/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work requests that read or write the memory of a client's requests. */
#ifndef ADV_STORAGE_SMB_GATEWAY_TRANSFERS_H
#define ADV_STORAGE_SMB_GATEWAY_TRANSFERS_H

#include "storage/kit/endpoint.h"
#include "storage/smb2/requests.h"

struct adv_smb_transfers {
	enum ibv_wr_opcode opcode; /* IBV_WR_RDMA_READ or IBV_WR_RDMA_WRITE */
	uint32_t lkey;		   /* of the gateway's memory */
	struct ibv_send_wr *wr;
	struct ibv_sge *sge;
};

/* Makes room for `most` work requests. False: no memory. Free it in any case. */
bool adv_smb_transfers_allocate(struct adv_smb_transfers *x, unsigned most);
void adv_smb_transfers_free(struct adv_smb_transfers *x);
/* Adds those of a request's data to the work. Returns where the memory of the next data begins. */
const uint8_t *adv_smb_transfers_add(struct adv_smb_transfers *x, struct adv_kit_work *work,
				     const struct adv_smb2_transfer *t, const uint8_t *memory);

#endif
