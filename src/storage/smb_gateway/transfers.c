/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/smb_gateway/transfers.h"

#include <stdlib.h>

bool adv_smb_transfers_allocate(struct adv_smb_transfers *x, unsigned most)
{
	x->wr = calloc(most, sizeof(*x->wr));
	x->sge = calloc(most, sizeof(*x->sge));
	return x->wr && x->sge;
}

void adv_smb_transfers_free(struct adv_smb_transfers *x)
{
	free(x->wr);
	free(x->sge);
}

const uint8_t *adv_smb_transfers_add(struct adv_smb_transfers *x, struct adv_kit_work *work,
				     const struct adv_smb2_transfer *t, const uint8_t *memory)
{
	uint32_t left = t->length;

	for (unsigned i = 0; i < t->count && left > 0; i++) {
		const struct adv_smbd_descriptor *d = &t->descriptors[i];
		uint32_t n = d->length < left ? d->length : left;
		struct ibv_send_wr *wr = &x->wr[work->count];
		struct ibv_sge *sge = &x->sge[work->count];

		if (n == 0)
			continue;
		*sge = (struct ibv_sge){(uintptr_t)memory, n, x->lkey};
		wr->sg_list = sge;
		wr->num_sge = 1;
		wr->opcode = x->opcode;
		wr->wr.rdma.remote_addr = d->offset;
		wr->wr.rdma.rkey = d->token;
		if (work->count++ > 0)
			wr[-1].next = wr;
		else
			work->first = wr;
		memory += n;
		left -= n;
	}
	return memory;
}
