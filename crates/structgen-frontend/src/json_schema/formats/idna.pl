# Prints the sets of idna.txt, one a line with its size: derived properties of RFC 5892 and classes of RFC 5893,
# from the Unicode data that perl carries.
use strict; use warnings; use feature qw(fc); use Unicode::Normalize qw(NFKC); use Unicode::UCD;
my %PVALID_EX = map { $_ => 1 } (0xDF,0x3C2,0x6FD,0x6FE,0xF0B,0x3007);
my %CONTEXTO = map { $_ => 1 } (0xB7,0x375,0x5F3,0x5F4,0x30FB,0x660..0x669,0x6F0..0x6F9);
my %DIS_EX = map { $_ => 1 } (0x640,0x7FA,0x302E,0x302F,0x3031..0x3035,0x303B);
sub derived { my ($c)=@_; my $s=chr($c);
  return 'P' if $PVALID_EX{$c}; return 'O' if $CONTEXTO{$c}; return 'D' if $DIS_EX{$c};
  return 'U' if $s =~ /\p{Cn}/ && $s !~ /\p{NChar}/;
  return 'P' if $s =~ /^[a-z0-9-]$/;
  return 'J' if $c==0x200C||$c==0x200D;
  return 'D' if $s ne NFKC(fc(NFKC($s)));
  return 'D' if $s =~ /\p{DI}|\p{White_Space}|\p{NChar}/;
  return 'D' if ($c>=0x20D0&&$c<=0x20FF)||($c>=0x1D100&&$c<=0x1D1FF)||($c>=0x1D200&&$c<=0x1D24F);
  return 'D' if $s =~ /\p{hst=L}|\p{hst=V}|\p{hst=T}/;
  return 'P' if $s =~ /\p{Ll}|\p{Lu}|\p{Lo}|\p{Nd}|\p{Lm}|\p{Mn}|\p{Mc}/;
  return 'D'; }
my %sets; my @names=qw(PVALID RIGHT_TO_LEFT ARABIC_NUMBER EUROPEAN_NUMBER NEUTRAL NONSPACING JOINING_LEFT JOINING_RIGHT TRANSPARENT VIRAMA);
for my $c (0..0x10FFFF) { next if $c>=0xD800&&$c<=0xDFFF; my $d=derived($c); next unless $d=~/[POJ]/; my $s=chr($c);
  push @{$sets{PVALID}},$c if $d eq 'P';
  push @{$sets{RIGHT_TO_LEFT}},$c if $s=~/\p{bc=R}|\p{bc=AL}/;
  push @{$sets{ARABIC_NUMBER}},$c if $s=~/\p{bc=AN}/;
  push @{$sets{EUROPEAN_NUMBER}},$c if $s=~/\p{bc=EN}/;
  push @{$sets{NEUTRAL}},$c if $s=~/\p{bc=ES}|\p{bc=CS}|\p{bc=ET}|\p{bc=ON}|\p{bc=BN}/;
  push @{$sets{NONSPACING}},$c if $s=~/\p{bc=NSM}/;
  push @{$sets{JOINING_LEFT}},$c if $s=~/\p{jt=L}|\p{jt=D}/;
  push @{$sets{JOINING_RIGHT}},$c if $s=~/\p{jt=R}|\p{jt=D}/;
  push @{$sets{TRANSPARENT}},$c if $s=~/\p{jt=T}/;
  push @{$sets{VIRAMA}},$c if $s=~/\p{ccc=9}/;
}
sub ranges { my @r; for my $c (@_) { if (@r && $r[-1][1]+1==$c) { $r[-1][1]=$c } else { push @r,[$c,$c] } } @r }
print STDERR "Unicode ", Unicode::UCD::UnicodeVersion(), "\n";
for my $n (@names) { my @r=ranges(@{$sets{$n}||[]}); print "$n ", scalar(@r), " ", join(' ', map { $_->[0]==$_->[1] ? sprintf("%X",$_->[0]) : sprintf("%X-%X",@$_) } @r), "\n"; }
