/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The types by which nfs3.x and nfs4.x mark what RPC-over-RDMA has to know, and the functions that
 * the code of rpcgen calls instead of those of libtirpc: they keep nothing of a message, so a
 * hostile message costs no memory. Only the generated code and binding.c include this.
 */
#ifndef ADV_STORAGE_NFS_DDP_H
#define ADV_STORAGE_NFS_DDP_H

#include <rpc/rpc.h>

/* A DDP-eligible opaque<>. The position and the length are recorded. */
typedef struct {
	u_int length;
} ddp_data;
/* The `count` of a READ: as many bytes of DDP-eligible data are in the result. */
typedef u_int ddp_read_count;
/* Nothing: a DDP-eligible pathname is in the result. */
typedef char ddp_readlink;
/* The most bytes of a result that is not DDP-eligible. */
typedef u_int ddp_reply_size;

/* The bitmap of a GETATTR: the attributes are in the result. */
typedef u_int ddp_attributes;

bool_t xdr_ddp_data(XDR *x, ddp_data *data);
bool_t xdr_ddp_read_count(XDR *x, ddp_read_count *count);
bool_t xdr_ddp_readlink(XDR *x, ddp_readlink *nothing);
bool_t xdr_ddp_reply_size(XDR *x, ddp_reply_size *size);
bool_t xdr_ddp_attributes(XDR *x, ddp_attributes *attributes);

/* As xdr_bytes(3), but *value points into the message. */
bool_t adv_nfs_xdr_bytes(XDR *x, char **value, u_int *length, u_int max);
/* As xdr_array(3), but each element replaces the one before it. */
bool_t adv_nfs_xdr_array(XDR *x, char **elements, u_int *count, u_int max, u_int size,
			 xdrproc_t decode);
/* As xdr_pointer(3) for a list whose last member is its next element, but without recursion. */
bool_t adv_nfs_xdr_pointer(XDR *x, char **object, u_int size, xdrproc_t decode);

#ifdef ADV_NFS_GENERATED
#define xdr_bytes   adv_nfs_xdr_bytes
#define xdr_array   adv_nfs_xdr_array
#define xdr_pointer adv_nfs_xdr_pointer
#endif

#endif
