/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts of the connection manager's events and reject reasons. */
#include "cli/observe/errors.h"

#include <stddef.h>

#include <rdma/rdma_cma.h>

#include "base/array.h"
#include "nic/wire/cm_message.h"

static const char none[] = "nothing";
static const char not_here[] =
	"belongs to InfiniBand or to path migration, which RoCE peers do not use";
static const char peer_bug[] = "capture UDP port 4791: one of the two ends violates the protocol";

static const struct adv_error_text events[] = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = {"RDMA_CM_EVENT_ADDR_RESOLVED", "",
					 "the local device for the address is known", none},
	[RDMA_CM_EVENT_ADDR_ERROR] =
		{"RDMA_CM_EVENT_ADDR_ERROR", "",
		 "there is no route to the address, or no neighbour answers there",
		 "set-up: ip route get ADDRESS, ip neigh; does DNS name the right address?"},
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = {"RDMA_CM_EVENT_ROUTE_RESOLVED", "",
					  "the path to the peer is known", none},
	[RDMA_CM_EVENT_ROUTE_ERROR] = {"RDMA_CM_EVENT_ROUTE_ERROR", "",
				       "the path to the peer could not be found",
				       "set-up: ip route get ADDRESS, ip neigh"},
	[RDMA_CM_EVENT_CONNECT_REQUEST] = {"RDMA_CM_EVENT_CONNECT_REQUEST", "",
					   "a peer requests a connection",
					   "rdma_accept() or rdma_reject()"},
	[RDMA_CM_EVENT_CONNECT_RESPONSE] =
		{"RDMA_CM_EVENT_CONNECT_RESPONSE", "",
		 "the peer has accepted; the id has no queue pair of its own",
		 "bring the queue pair to RTS, then rdma_establish()"},
	[RDMA_CM_EVENT_CONNECT_ERROR] =
		{"RDMA_CM_EVENT_CONNECT_ERROR", "",
		 "the peer has accepted, but the local queue pair could not be brought to RTS: the "
		 "peer has disconnected since, or ibv_modify_qp() failed",
		 "peer or local application: ADVERB_LOG=warn says which; if the peer has "
		 "disconnected, see its log"},
	[RDMA_CM_EVENT_UNREACHABLE] = {"RDMA_CM_EVENT_UNREACHABLE", "",
				       "nobody answered the request; status -111 (ECONNREFUSED): "
				       "ICMP reports that the peer's UDP port 4791 is closed",
				       "fabric: link, route, MTU, a firewall for UDP port 4791; "
				       "does an RDMA device (adverbd) run at the peer?"},
	[RDMA_CM_EVENT_REJECTED] =
		{"RDMA_CM_EVENT_REJECTED", "",
		 "the peer answered and refused; the event's status is the reason of the reject",
		 "peer application: adverb explain RDMA_CM_EVENT_REJECTED/STATUS"},
	[RDMA_CM_EVENT_ESTABLISHED] = {"RDMA_CM_EVENT_ESTABLISHED", "",
				       "both queue pairs are connected", none},
	[RDMA_CM_EVENT_DISCONNECTED] =
		{"RDMA_CM_EVENT_DISCONNECTED", "",
		 "the peer called rdma_disconnect(), ended or was killed, or does not answer any "
		 "more (status -110, ETIMEDOUT)",
		 "first the port's counters (adverb stat), then the logs of both programs"},
	[RDMA_CM_EVENT_DEVICE_REMOVAL] =
		{"RDMA_CM_EVENT_DEVICE_REMOVAL", "",
		 "the connection manager has ended; its ids are of no use any more",
		 "destroy all ids and begin again; see adverb status"},
	[RDMA_CM_EVENT_MULTICAST_JOIN] = {"RDMA_CM_EVENT_MULTICAST_JOIN", "",
					  "the multicast group is joined", none},
	[RDMA_CM_EVENT_MULTICAST_ERROR] =
		{"RDMA_CM_EVENT_MULTICAST_ERROR", "",
		 "the group could not be joined, or was lost with its interface",
		 "set-up: is the interface up? net.ipv4.igmp_max_memberships limits groups"},
	[RDMA_CM_EVENT_ADDR_CHANGE] = {"RDMA_CM_EVENT_ADDR_CHANGE", "",
				       "the local address of the id was removed",
				       "set-up: connect again from an address that exists"},
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = {"RDMA_CM_EVENT_TIMEWAIT_EXIT", "",
					 "no packet of the old connection can arrive any more: its "
					 "queue pair may be used again",
					 none},
};

/* By enum adv_cm_rej_reason. Names: enum ib_cm_rej_reason of the kernel. */
static const struct adv_error_text reasons[] = {
	[ADV_CM_REJ_NO_QP] = {"NO_QP", "", "the peer has no queue pair left", "free some there"},
	[ADV_CM_REJ_NO_EEC] = {"NO_EEC", "", not_here, peer_bug},
	[ADV_CM_REJ_NO_RESOURCES] = {"NO_RESOURCES", "", "the peer has no memory or ids left",
				     "see the peer's log; adverb res cm_id there"},
	[ADV_CM_REJ_TIMEOUT] = {"TIMEOUT", "", "the peer waited too long for this end's answer",
				"does this program fetch its events? is the way back free?"},
	[ADV_CM_REJ_UNSUPPORTED] = {"UNSUPPORTED", "", "the peer does not support the request",
				    "compare the kinds of queue pairs and the options"},
	[ADV_CM_REJ_INVALID_COMM_ID] = {"INVALID_COMM_ID", "",
					"the message names a connection that does not exist",
					"the peer has restarted, or has closed the connection"},
	[ADV_CM_REJ_INVALID_COMM_INSTANCE] = {"INVALID_COMM_INSTANCE", "",
					      "the message names an old connection", "try again"},
	[ADV_CM_REJ_INVALID_SERVICE_ID] =
		{"INVALID_SERVICE_ID", "", "no program listens at that address and port",
		 "does the server run, on that address and in that port space? adverb res cm_id"},
	[ADV_CM_REJ_INVALID_TRANSPORT_TYPE] =
		{"INVALID_TRANSPORT_TYPE", "",
		 "the listener expects another transport (RC, UC, XRC)",
		 "use the same type of queue pair at both ends"},
	[ADV_CM_REJ_STALE_CONN] = {"STALE_CONN", "",
				   "the peer still had a connection with this queue pair",
				   "try again after TIMEWAIT_EXIT, or with a new queue pair"},
	[ADV_CM_REJ_RDC_NOT_EXIST] = {"RDC_NOT_EXIST", "", not_here, peer_bug},
	[ADV_CM_REJ_INVALID_GID] = {"INVALID_GID", "", "the peer does not have the GID",
				    "was an address of the peer removed? adverb gids there"},
	[ADV_CM_REJ_INVALID_LID] = {"INVALID_LID", "", not_here, peer_bug},
	[ADV_CM_REJ_INVALID_SL] = {"INVALID_SL", "", "the service level is not possible there",
				   "compare the TOS or service level options"},
	[ADV_CM_REJ_INVALID_TRAFFIC_CLASS] = {"INVALID_TRAFFIC_CLASS", "",
					      "the traffic class is not possible there",
					      "compare the TOS options"},
	[ADV_CM_REJ_INVALID_HOP_LIMIT] = {"INVALID_HOP_LIMIT", "",
					  "the hop limit is not possible there", peer_bug},
	[ADV_CM_REJ_INVALID_PACKET_RATE] = {"INVALID_PACKET_RATE", "",
					    "the packet rate is not possible there", peer_bug},
	[ADV_CM_REJ_INVALID_ALT_GID] = {"INVALID_ALT_GID", "", not_here, peer_bug},
	[ADV_CM_REJ_INVALID_ALT_LID] = {"INVALID_ALT_LID", "", not_here, peer_bug},
	[ADV_CM_REJ_INVALID_ALT_SL] = {"INVALID_ALT_SL", "", not_here, peer_bug},
	[ADV_CM_REJ_INVALID_ALT_TRAFFIC_CLASS] = {"INVALID_ALT_TRAFFIC_CLASS", "", not_here,
						  peer_bug},
	[ADV_CM_REJ_INVALID_ALT_HOP_LIMIT] = {"INVALID_ALT_HOP_LIMIT", "", not_here, peer_bug},
	[ADV_CM_REJ_INVALID_ALT_PACKET_RATE] = {"INVALID_ALT_PACKET_RATE", "", not_here, peer_bug},
	[ADV_CM_REJ_PORT_CM_REDIRECT] =
		{"PORT_CM_REDIRECT", "",
		 "the peer's manager is at another address; Adverb does not follow redirections",
		 "connect to that address"},
	[ADV_CM_REJ_PORT_REDIRECT] =
		{"PORT_REDIRECT", "",
		 "the service is at another port of the peer; Adverb does not follow redirections",
		 "connect to that port's address"},
	[ADV_CM_REJ_INVALID_MTU] =
		{"INVALID_MTU", "", "the requested path MTU is larger than the peer's",
		 "set-up: the MTU of both interfaces (adverb gids); the same one at both ends"},
	[ADV_CM_REJ_INSUFFICIENT_RESP_RESOURCES] =
		{"INSUFFICIENT_RESP_RESOURCES", "",
		 "this end requests more READs and atomics at a time than the peer allows",
		 "lower initiator_depth in rdma_connect(), or raise the peer's "
		 "responder_resources"},
	[ADV_CM_REJ_CONSUMER_DEFINED] =
		{"CONSUMER_DEFINED", "", "the peer's program called rdma_reject()",
		 "the event's private data and the peer's log have its reason"},
	[ADV_CM_REJ_INVALID_RNR_RETRY] = {"INVALID_RNR_RETRY", "",
					  "the RNR retry count is not possible there",
					  "rnr_retry_count is 0 to 7"},
	[ADV_CM_REJ_DUPLICATE_LOCAL_COMM_ID] = {"DUPLICATE_LOCAL_COMM_ID", "",
						"the peer has a connection with the same id",
						"try again"},
	[ADV_CM_REJ_INVALID_CLASS_VERSION] = {"INVALID_CLASS_VERSION", "",
					      "the peer's manager has another protocol version",
					      peer_bug},
	[ADV_CM_REJ_INVALID_FLOW_LABEL] = {"INVALID_FLOW_LABEL", "",
					   "the flow label is not possible there", peer_bug},
	[ADV_CM_REJ_INVALID_ALT_FLOW_LABEL] = {"INVALID_ALT_FLOW_LABEL", "", not_here, peer_bug},
	[ADV_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED] =
		{"VENDOR_OPTION_NOT_SUPPORTED", "",
		 "the peer does not support the options of an enhanced connection (ECE)",
		 "do not set them (rdma_set_local_ece)"},
};

const struct adv_error_text *adv_cm_event_text(uint32_t event)
{
	return event < ADV_ARRAY_SIZE(events) ? &events[event] : NULL;
}

const struct adv_error_text *adv_reject_text(uint32_t reason)
{
	return reason < ADV_ARRAY_SIZE(reasons) && reasons[reason].name ? &reasons[reason] : NULL;
}

uint32_t adv_reject_reasons(void)
{
	return ADV_ARRAY_SIZE(reasons);
}
