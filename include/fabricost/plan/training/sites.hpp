#pragma once
/// Training over several sites whose links are slow: DiLoCo (arXiv 2311.08105) and its streaming form (arXiv 2501.18512), beside plain data
/// parallelism over the same links.
///
///   round      H steps of each site alone; then the mean over S sites of what their weights have moved, the outer gradient, is applied to the
///              weights that all of them started from (SGD with Nesterov momentum)
///   exchange   of P trained parameters of w bytes: each site reduces an S-th of them and sends it to the others, so that its link carries
///              2 (S - 1) / S P w each way, and a fragment takes two delays of the fibre
///   streaming  the model in F fragments, each exchanged once a round while tau more steps run: of a round
///              max(F max(0, exchange / F - tau step), exchange - H step) is not hidden, that is no more bytes than the link carries
///   update     reads and writes weights, those of the last round and momentum: 24 bytes a parameter, once a round
///   state      8 bytes a parameter beside the inner optimizer's, sharded as its states are
///   plain      the same exchange of gradients every step; without pipeline stages as much is hidden as the stack hides of its own, and no
///              more than the step's work
///   failures   a site works a share a of the time. The others go on without it and it begins again with their weights, so that a of the
///              tokens are trained; data parallelism waits for all S sites, so that a^S are
///   loss       L = A N^-a of data parallelism and B N^-b S^c of DiLoCo, at 20 tokens a parameter (arXiv 2503.09799). For the same loss
///              (L' / L)^(2 / a) times the tokens: where compute is spent best, parameters and tokens lower the loss alike, so that tokens
///              alone have the power a / 2

#include <fabricost/plan/training/question.hpp>

namespace fabricost::plan {

struct SitesQuestion {
  int sites = 2;
  double rate = 0;           ///< bytes/s of a site's link, one way
  double delay = 0;          ///< s from site to site
  int every = 1;             ///< H
  int fragments = 1;         ///< F
  int overlap = 0;           ///< tau
  double width = 4;          ///< bytes of a value on the way
};

/// A site's step and the exchange of rounds; times of a round are of all its fragments.
struct SitesTime {
  double step = 0;        ///< of a site alone
  double parameters = 0;  ///< trained
  double rate = 0;        ///< bytes/s that leave a site: its link's, or that of its NICs where they are slower
  double sent = 0;        ///< bytes of a round that a site sends
  double exchange = 0, exposed = 0;
  double update = 0;         ///< of the outer optimizer, once a round
  double state = 0;          ///< bytes on a GPU of the fullest stage
  bool state_on_gpu = true;  ///< else it waits in host memory
  double plain_exchange = 0, plain = 0;  ///< of data parallelism: gradients of a step, and the step

  [[nodiscard]] double seconds(int every) const { return step + (exposed + update) / every; }
};

/// Parameters that the model trains: all of it, or its adapters.
[[nodiscard]] double trained_parameters(const Model& model, const Layout& layout);

/// \param priced a site's layout with its step
[[nodiscard]] SitesTime sites_time(const SitesQuestion& q, const TrainingQuestion& of_site, const System& system, const PricedLayout& priced);

}  // namespace fabricost::plan
