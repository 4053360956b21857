/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_host/windows.h"

#include <errno.h>
#include <stdlib.h>

struct window {
	struct ibv_mw *mw;
	void *user;    /* whose window is being invalidated; NULL: none */
	int next_free; /* -1: none */
};

struct adv_nvme_windows {
	unsigned count;
	int first_free;
	struct window at[];
};

struct adv_nvme_windows *adv_nvme_windows_create(struct ibv_pd *pd, unsigned count)
{
	struct adv_nvme_windows *w;
	struct ibv_device_attr attr;

	errno = ibv_query_device(pd->context, &attr);
	if (errno)
		return NULL;
	if (!(attr.device_cap_flags &
	      (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B))) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	w = calloc(1, sizeof(*w) + count * sizeof(w->at[0]));
	if (!w)
		return NULL;
	w->first_free = -1;
	for (; w->count < count; w->count++) {
		w->at[w->count].mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		if (!w->at[w->count].mw) {
			adv_nvme_windows_destroy(w);
			return NULL;
		}
		adv_nvme_windows_free(w, (int)w->count);
	}
	return w;
}

void adv_nvme_windows_destroy(struct adv_nvme_windows *w)
{
	int err = errno;

	for (unsigned i = 0; i < w->count; i++)
		ibv_dealloc_mw(w->at[i].mw);
	free(w);
	errno = err;
}

int adv_nvme_windows_bind(struct adv_nvme_windows *w, struct ibv_mr *mr, uint64_t address,
			  uint64_t length, struct ibv_send_wr *wr)
{
	int index = w->first_free;
	struct ibv_mw *mw;

	if (index < 0)
		return -1;
	w->first_free = w->at[index].next_free;
	mw = w->at[index].mw;
	/* A late message to the last command's key finds another one. */
	mw->rkey = ibv_inc_rkey(mw->rkey);
	*wr = (struct ibv_send_wr){
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = {.mw = mw,
			    .rkey = mw->rkey,
			    .bind_info = {.mr = mr,
					  .addr = address,
					  .length = length,
					  .mw_access_flags = IBV_ACCESS_REMOTE_READ |
							     IBV_ACCESS_REMOTE_WRITE}},
	};
	return index;
}

uint32_t adv_nvme_windows_key(const struct adv_nvme_windows *w, int index)
{
	return w->at[index].mw->rkey;
}

void adv_nvme_windows_invalidate(struct adv_nvme_windows *w, int index, void *user,
				 struct ibv_send_wr *wr)
{
	w->at[index].user = user;
	*wr = (struct ibv_send_wr){.opcode = IBV_WR_LOCAL_INV,
				   .send_flags = IBV_SEND_SIGNALED,
				   .invalidate_rkey = adv_nvme_windows_key(w, index)};
}

void *adv_nvme_windows_free(struct adv_nvme_windows *w, int index)
{
	void *user = w->at[index].user;

	w->at[index].user = NULL;
	w->at[index].next_free = w->first_free;
	w->first_free = index;
	return user;
}

void *adv_nvme_windows_next_lost(struct adv_nvme_windows *w)
{
	for (unsigned i = 0; i < w->count; i++) {
		if (w->at[i].user)
			return adv_nvme_windows_free(w, (int)i);
	}
	return NULL;
}
